// SPDX-License-Identifier: Apache-2.0
// The smallest host of a compiled model through Core ML: the same steps as host_loop.cc, in the same
// order, for macOS 15 and iOS 18 or later. docs/guide/app.md explains each part. It takes the form
// that `compile --form examples/host_loop/form.json` writes, of models of attention alone. It
// refuses an artifact that needs more, and says what it does not know.
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
    var carried: Int?
    var caches: [Cache]?
  }
  struct Head: Decodable {
    var package: String
    var vocab_begin: Int
    var input: String
    var output: String
    var argmax: String?
  }
  struct Function: Decodable {
    var name: String
    var tokens: Int
    var context: Int?
    var flexible: Bool?
  }
  struct Rope: Decodable {
    var name: String
    var scale: Float
    var inv_freq: [Float]
    var short_length: Int?
  }
  struct Quantization: Decodable {
    var dtype: String
  }
  struct Part: Decodable {
    var file: String
    var offset: Int
    var rows: Int
    var quantization: Quantization?
  }
  struct Embedding: Decodable {
    var dtype: String
    var columns: Int
    var parts: [Part]
  }
  struct Form: Decodable {
    var cache: String?
    var logits: String?
  }
  var precision: String
  var layout: String?
  var labels: [String]?
  var layer_embedding: Embedding?
  var form: Form?
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

extension Manifest {
  // Refuses an artifact that has something that this loop does not know, and says what that is.
  func checkForm() throws {
    func know(_ isKnown: Bool, _ subject: String, _ expected: String) throws {
      if !isKnown {
        throw HostError(
          description: "[\(subject)] \(expected): this host knows no other (docs/guide/app.md)")
      }
    }
    try know(labels ?? [] == [], "labels", "expected a model that generates text, got labels")
    try know(precision == "fp16", "precision", "expected fp16, got \(precision)")
    try know(layout == "tokens-in-width", "form.layout", "expected tokens-in-width, got \(layout ?? "none")")
    try know(form?.cache == "readonly", "form.cache", "expected readonly, got \(form?.cache ?? "none")")
    try know(form?.logits == "last-axis", "form.logits", "expected last-axis, got \(form?.logits ?? "none")")
    let shardPackages = shards.map(\.package)
    for head in heads {
      try know(head.argmax == nil, head.output, "expected logits, got the highest of them (argmax)")
      try know(
        !shardPackages.contains(head.package), "heads",
        "expected packages of their own, got heads in \(head.package)")
    }
    try know(
      embedding.dtype == "fp16" && embedding.parts.allSatisfy { $0.quantization == nil },
      "embedding", "expected rows of fp16 (\"embedding\": \"float\" in the form), got others")
    try know(
      layer_embedding == nil, "layer_embedding", "expected none, got embeddings that each layer adds")
    for shard in shards {
      try know(
        (shard.carried ?? 0) == 0, shard.package, "expected a hidden state alone, got carried values")
      for cache in shard.caches ?? [] {
        try know(
          cache.appended == true, cache.name, "expected keys or values, got another kind of cache")
      }
      let roles = ["hidden", "rope_cos", "rope_sin", "attention_mask_past_and_step"]
      for port in shard.inputs {
        try know(
          roles.contains(port.role), port.name,
          "expected an input of a role in the chapter's table, got \(port.role)")
      }
    }
    for rope in ropes ?? [] {
      try know(
        (rope.short_length ?? 0) == 0, rope.name,
        "expected one set of rotary frequencies, got another for long texts (longrope)")
    }
    for function in functions {
      try know(
        (function.context ?? 0) == 0 && function.flexible != true, function.name,
        "expected a function of the whole context and a fixed number of tokens, got a tier or a range"
      )
    }
  }
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
  private var embedding: [Data] = []  // by part
  private var shards: [Package] = []
  private var heads: [String: Package] = [:]  // by the name of the package
  private var caches: [String: Rows] = [:]
  private var position = 0  // tokens in the caches

  init(_ folder: URL) async throws {
    let data = try Data(contentsOf: folder.appending(path: "manifest.json"))
    manifest = try JSONDecoder().decode(Manifest.self, from: data)
    try manifest.checkForm()
    for part in manifest.embedding.parts {
      let url = folder.appending(path: part.file)
      let rows = try Data(contentsOf: url, options: .alwaysMapped).dropFirst(part.offset)
      let rowBytes = manifest.embedding.columns * MemoryLayout<Float16>.size
      if rows.count < part.rows * rowBytes {
        throw HostError(
          description: "[embedding] expected as many rows as the manifest says, got fewer")
      }
      embedding.append(rows)
    }
    let functions = manifest.functions.map(\.name)
    for shard in manifest.shards {
      shards.append(try await Package(folder.appending(path: shard.package), functions: functions))
      for cache in shard.caches ?? [] { self.caches[cache.name] = Rows(cache.shape) }
    }
    // Heads with the same package are outputs of one run.
    for head in manifest.heads where heads[head.package] == nil {
      heads[head.package] = try await Package(
        folder.appending(path: head.package), functions: [decode.name])
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

  // Rows of the embedding matrix as columns: [1, C, 1, T]. Columns after the tokens stay zero.
  private func embed(_ width: Int, _ tokens: [Int]) -> MLMultiArray {
    let channels = manifest.embedding.columns
    var out = [Float16](repeating: 0, count: channels * width)
    for (t, token) in tokens.enumerated() {
      // The parts follow each other in the order of the vocabulary.
      var row = token
      var part = 0
      while row >= manifest.embedding.parts[part].rows {
        row -= manifest.embedding.parts[part].rows
        part += 1
      }
      embedding[part].withUnsafeBytes { bytes in
        for c in 0..<channels {
          let at = (row * channels + c) * MemoryLayout<Float16>.size
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

  // The packages of heads run on the column of one token, [1, C, 1, 1].
  private func mostLikely(_ hidden: MLMultiArray, token: Int) throws -> Int {
    let width = hidden.shape[3].intValue
    let columns = elements(of: hidden)
    let column = (0..<manifest.hidden_size).map { columns[$0 * width + token] }
    var best = 0
    var highest = -Float16.infinity
    let input = array([1, manifest.hidden_size, 1, 1], column)
    var results: [String: MLFeatureProvider] = [:]  // one run of each package
    for head in manifest.heads {
      let result = try results[head.package] ?? heads[head.package]!.run(decode.name, [head.input: input])
      results[head.package] = result
      let logits = elements(of: try output(head.output, of: result))
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
    let rows = loop.manifest.embedding.parts.reduce(0) { $0 + $1.rows }
    guard numbers[0] >= 0, prompt.allSatisfy({ (0..<rows).contains($0) }) else {
      throw HostError(description: "[TOKEN_ID] expected ids of 0 to \(rows - 1)")
    }
    guard prompt.count + numbers[0] <= loop.manifest.context else {
      throw HostError(description: "[prompt] expected room in the context for it and MAX_NEW")
    }
    var next = 0
    for begin in stride(from: 0, to: prompt.count, by: loop.prefill.tokens) {
      let end = min(prompt.count, begin + loop.prefill.tokens)
      next = try loop.step(loop.prefill, Array(prompt[begin..<end]))
    }
    for made in stride(from: 1, through: numbers[0], by: 1) {
      print(next)
      if loop.manifest.eos_ids.contains(next) { break }
      if made < numbers[0] { next = try loop.step(loop.decode, [next]) }
    }
  }
}
