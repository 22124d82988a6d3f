// SPDX-License-Identifier: Apache-2.0
// The smallest host of a compiled model through Core ML: the same steps as host_loop.cc, in the same
// order, for macOS 15 and iOS 18 or later. docs/guide/app.md explains each part. It takes the form
// that `compile --form examples/host_loop/form.json` writes, of models of attention alone.
//
//   swiftc -O -parse-as-library HostLoop.swift -o host_loop
//   ./host_loop ARTIFACT MAX_NEW TOKEN_ID...      prints the ids of the new tokens, one per line
import CoreML
import Foundation

// What a host reads of manifest.json.
struct Manifest: Decodable {
  struct Port: Decodable {
    var name: String
    var role: String
    var rope: String?
    var window: Int?
  }
  struct Cache: Decodable {
    var name: String
    var output: String?
    var shape: [Int]
    var appended: Bool?
  }
  struct Shard: Decodable {
    var package: String
    var inputs: [Port]
    var output: String
    var caches: [Cache]?
  }
  struct Head: Decodable {
    var package: String
    var vocab_begin: Int
    var input: String
    var output: String
  }
  struct Function: Decodable {
    var name: String
    var tokens: Int
  }
  struct Rope: Decodable {
    var name: String
    var scale: Float
    var inv_freq: [Float]
  }
  struct Part: Decodable {
    var file: String
    var offset: Int
  }
  struct Embedding: Decodable {
    var columns: Int
    var parts: [Part]
  }
  struct Form: Decodable {
    var cache: String
  }
  var form: Form
  var context: Int
  var hidden_size: Int
  var eos_ids: [Int]
  var embedding: Embedding
  var ropes: [Rope]?
  var functions: [Function]
  var shards: [Shard]
  var heads: [Head]
}

struct HostError: Error, CustomStringConvertible {
  var description: String
}

let maskedScore: Float = -1e4

// A package with a model for each of its functions.
final class Package {
  private var models: [String: MLModel] = [:]

  init(_ url: URL, functions: [String]) async throws {
    // An app keeps the compiled folder, and compiles anew after an upgrade of the system.
    let compiled = try await MLModel.compileModel(at: url)
    for function in functions {
      let configuration = MLModelConfiguration()
      configuration.computeUnits = .cpuAndNeuralEngine
      configuration.functionName = function
      models[function] = try await MLModel.load(contentsOf: compiled, configuration: configuration)
    }
  }

  // The shape that an input of a function has.
  func shape(of input: String, in function: String) throws -> [Int] {
    guard let model = models[function],
      let constraint = model.modelDescription.inputDescriptionsByName[input]?.multiArrayConstraint
    else { throw HostError(description: "[\(input)] expected an input of \(function), got none") }
    return constraint.shape.map(\.intValue)
  }

  func run(_ function: String, _ inputs: [String: MLMultiArray]) throws -> MLFeatureProvider {
    guard let model = models[function] else {
      throw HostError(description: "[\(function)] expected a function, got none")
    }
    let features = inputs.mapValues { MLFeatureValue(multiArray: $0) }
    return try model.prediction(from: MLDictionaryFeatureProvider(dictionary: features))
  }
}

// Elements in the order of the shape. Core ML may leave gaps behind the rows of an output, so
// nothing may be read by its pointer without the strides.
func elements(of array: MLMultiArray) -> [Float16] {
  MLShapedArray<Float16>(array).scalars
}
func array(_ shape: [Int], _ scalars: [Float16]) -> MLMultiArray {
  MLMultiArray(MLShapedArray<Float16>(scalars: scalars, shape: shape))
}
func output(_ name: String, of result: MLFeatureProvider) throws -> MLMultiArray {
  guard let value = result.featureValue(for: name)?.multiArrayValue else {
    throw HostError(description: "[\(name)] expected an output, got none")
  }
  return value
}

// Keys or values of one layer: [heads, positions, dim].
struct Rows {
  let heads: Int
  let positions: Int
  let dim: Int
  private var scalars: [Float16]

  init(_ shape: [Int]) {
    heads = shape[1]
    positions = shape[2]
    dim = shape[3]
    scalars = [Float16](repeating: 0, count: heads * positions * dim)
  }

  // The last `past` positions before `position`, or the first `past`: [1, heads, past, dim].
  func past(_ past: Int, before position: Int) -> MLMultiArray {
    let first = max(0, position - past)
    var out: [Float16] = []
    out.reserveCapacity(heads * past * dim)
    for head in 0..<heads {
      let begin = (head * positions + first) * dim
      out += scalars[begin..<begin + past * dim]
    }
    return array([1, heads, past, dim], out)
  }

  // The rows of a step, [1, heads, T, dim], of which the first `count` are tokens.
  mutating func append(_ rows: MLMultiArray, count: Int, at position: Int) {
    let width = rows.shape[2].intValue
    let values = elements(of: rows)
    for head in 0..<heads {
      let to = (head * positions + position) * dim
      let from = head * width * dim
      scalars.replaceSubrange(to..<to + count * dim, with: values[from..<from + count * dim])
    }
  }
}

final class HostLoop {
  let manifest: Manifest
  private let embedding: Data
  private var shards: [Package] = []
  private var heads: [Package] = []
  private var caches: [String: Rows] = [:]
  private var position = 0  // tokens in the caches

  init(_ folder: URL) async throws {
    let data = try Data(contentsOf: folder.appending(path: "manifest.json"))
    manifest = try JSONDecoder().decode(Manifest.self, from: data)
    let part = manifest.embedding.parts[0]
    embedding = try Data(contentsOf: folder.appending(path: part.file), options: .alwaysMapped)
      .dropFirst(part.offset)
    let functions = manifest.functions.map(\.name)
    for shard in manifest.shards {
      let caches = shard.caches ?? []
      guard manifest.form.cache == "readonly", caches.allSatisfy({ $0.appended == true }) else {
        throw HostError(description: "[artifact] expected read-only caches that the host appends to")
      }
      shards.append(try await Package(folder.appending(path: shard.package), functions: functions))
      for cache in caches { self.caches[cache.name] = Rows(cache.shape) }
    }
    for head in manifest.heads {
      heads.append(try await Package(folder.appending(path: head.package), functions: functions))
    }
  }

  // The functions that take the fewest and the most tokens.
  var decode: Manifest.Function { manifest.functions.min { $0.tokens < $1.tokens }! }
  var prefill: Manifest.Function { manifest.functions.max { $0.tokens < $1.tokens }! }

  // Runs tokens, whose number is at most that of `function`, and returns the most likely next one.
  func step(_ function: Manifest.Function, _ tokens: [Int]) throws -> Int {
    var hidden = embed(function.tokens, tokens)
    for (shard, package) in zip(manifest.shards, shards) {
      var inputs: [String: MLMultiArray] = [:]
      for port in shard.inputs {
        let shape = try package.shape(of: port.name, in: function.name)
        inputs[port.name] = try value(for: port, shape, hidden)
      }
      for cache in shard.caches ?? [] {
        let shape = try package.shape(of: cache.name, in: function.name)
        inputs[cache.name] = caches[cache.name]!.past(shape[2], before: position)
      }
      let result = try package.run(function.name, inputs)
      hidden = try output(shard.output, of: result)
      for cache in shard.caches ?? [] {
        let rows = try output(cache.output!, of: result)
        caches[cache.name]!.append(rows, count: tokens.count, at: position)
      }
    }
    position += tokens.count
    return try mostLikely(hidden, token: tokens.count - 1)
  }

  // Rows of the embedding matrix as columns: [1, C, 1, T]. Columns behind the tokens stay zero.
  private func embed(_ width: Int, _ tokens: [Int]) -> MLMultiArray {
    let channels = manifest.hidden_size
    var out = [Float16](repeating: 0, count: channels * width)
    embedding.withUnsafeBytes { bytes in
      for (t, token) in tokens.enumerated() {
        for c in 0..<channels {
          let at = (token * channels + c) * MemoryLayout<Float16>.size
          out[c * width + t] = bytes.loadUnaligned(fromByteOffset: at, as: Float16.self)
        }
      }
    }
    return array([1, channels, 1, width], out)
  }

  private func value(for port: Manifest.Port, _ shape: [Int], _ hidden: MLMultiArray) throws
    -> MLMultiArray
  {
    switch port.role {
    case "hidden":
      return hidden
    case "rope_cos", "rope_sin":
      // [1, 1, T, rope_dim / 2]
      guard let rope = manifest.ropes?.first(where: { $0.name == port.rope }) else {
        throw HostError(description: "[\(port.name)] expected its rotary frequencies, got none")
      }
      var out: [Float16] = []
      for t in 0..<shape[2] {
        for frequency in rope.inv_freq {
          let angle = Float(position + t) * frequency
          out.append(Float16(rope.scale * (port.role == "rope_cos" ? cos(angle) : sin(angle))))
        }
      }
      return array(shape, out)
    case "attention_mask_past_and_step":
      // [1, 1, T, P + T]: a column per position of the past, then one per token of the step.
      let width = shape[2]
      let past = shape[3] - width
      let first = max(0, position - past)
      let window = (port.window ?? 0) == 0 ? manifest.context : port.window!
      var out = [Float16](repeating: Float16(maskedScore), count: width * (past + width))
      for t in 0..<width {
        let query = position + t
        for column in 0..<past + width {
          let key = column < past ? first + column : position + column - past
          let isStored = column >= past || key < position
          if isStored && key <= query && query - key < window { out[t * (past + width) + column] = 0 }
        }
      }
      return array(shape, out)
    default:
      throw HostError(description: "[\(port.name)] expected the form of form.json, got \(port.role)")
    }
  }

  // The heads run on the column of one token, [1, C, 1, 1].
  private func mostLikely(_ hidden: MLMultiArray, token: Int) throws -> Int {
    let width = hidden.shape[3].intValue
    let columns = elements(of: hidden)
    let column = (0..<manifest.hidden_size).map { columns[$0 * width + token] }
    var best = 0
    var highest = -Float16.infinity
    for (head, package) in zip(manifest.heads, heads) {
      let input = array([1, manifest.hidden_size, 1, 1], column)
      let logits = elements(
        of: try output(head.output, of: package.run(decode.name, [head.input: input])))
      for (row, logit) in logits.enumerated() where logit > highest {
        highest = logit
        best = head.vocab_begin + row
      }
    }
    return best
  }
}

@main
struct Main {
  static func main() async throws {
    let arguments = CommandLine.arguments
    let numbers = arguments.dropFirst(2).compactMap { Int($0) }
    guard arguments.count >= 4, numbers.count == arguments.count - 2 else {
      throw HostError(description: "usage: host_loop ARTIFACT MAX_NEW TOKEN_ID...")
    }
    let loop = try await HostLoop(URL(filePath: arguments[1]))
    let prompt = Array(numbers.dropFirst())
    guard prompt.count + numbers[0] <= loop.manifest.context else {
      throw HostError(description: "[prompt] expected room in the context for it and MAX_NEW")
    }
    var next = 0
    for begin in stride(from: 0, to: prompt.count, by: loop.prefill.tokens) {
      let end = min(prompt.count, begin + loop.prefill.tokens)
      next = try loop.step(loop.prefill, Array(prompt[begin..<end]))
    }
    for made in 1...max(1, numbers[0]) {
      print(next)
      if loop.manifest.eos_ids.contains(next) { break }
      if made < numbers[0] { next = try loop.step(loop.decode, [next]) }
    }
  }
}
