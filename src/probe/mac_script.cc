// SPDX-License-Identifier: Apache-2.0
#include "probe/mac_script.h"

namespace anemone::probe {

const std::string_view kMacScript =
    R"swift(// Written by `anemone probe`. On a Mac with macOS 15 or later:
//
//   swiftc -O -parse-as-library probe.swift -o probe && ./probe [RUNS]
//
// It reads probe.json here, and writes results.json.
import CoreML
import Foundation

struct Port: Codable { let name: String; let dtype: String; let shape: [Int]; let file: String }
struct Function: Codable {
  let name: String; let is_main: Bool; let has_states: Bool; let inputs: [Port]; let outputs: [Port]
}
struct Package: Codable { let path: String; let bytes: Int; let functions: [Function] }
struct Probe: Codable { let id: String; let packages: [Package] }
struct Kit: Codable { let format: Int; let anemone: String; let probes: [Probe] }

struct Unit: Codable { var ane = 0; var gpu = 0; var cpu = 0; var unknown = 0 }
struct Operation: Codable {
  let name: String; let type: String; let device: String; let supported: [String]; let cost: Double
}
struct Result: Codable {
  var probe: String; let package: String; let function: String
  var error: String?
  var placement: Unit?
  var placement_by_op: [String: Unit]?
  var operations: [Operation]?
  var compile_ms: Double?; var load_ms: Double?; var median_ms: Double?; var runs: Int?
  var cosine: Double?  // the least of all outputs
}
struct Results: Codable {
  let format: Int; let anemone: String; let system: String; let model: String; let results: [Result]
}

func now() -> Double { Double(DispatchTime.now().uptimeNanoseconds) / 1e6 }

func machine() -> String {
  var size = 0
  sysctlbyname("hw.model", nil, &size, nil, 0)
  var bytes = [CChar](repeating: 0, count: size)
  sysctlbyname("hw.model", &bytes, &size, nil, 0)
  return String(cString: bytes)
}

func dataType(_ dtype: String) throws -> MLMultiArrayDataType {
  switch dtype {
  case "fp16": return .float16
  case "fp32": return .float32
  case "int32": return .int32
  default: throw NSError(domain: "probe: dtype \(dtype)", code: 1)
  }
}

func load(_ port: Port, _ root: URL) throws -> MLMultiArray {
  let data = try Data(contentsOf: root.appendingPathComponent(port.file))
  let array = try MLMultiArray(shape: port.shape.map { NSNumber(value: $0) }, dataType: dataType(port.dtype))
  // An array of this initializer is row-major without gaps.
  array.withUnsafeMutableBytes { target, _ in data.copyBytes(to: target) }
  return array
}

// Elements in row-major order, whatever the strides are.
func numbers(_ array: MLMultiArray) -> [Double] {
  let shape = array.shape.map { $0.intValue }
  let strides = array.strides.map { $0.intValue }
  var out = [Double](); out.reserveCapacity(array.count)
  var index = [Int](repeating: 0, count: shape.count)
  array.withUnsafeBytes { raw in
    for _ in 0..<array.count {
      var at = 0
      for d in 0..<shape.count { at += index[d] * strides[d] }
      switch array.dataType {
      case .float16: out.append(Double(Float(raw.bindMemory(to: Float16.self)[at])))
      case .float32: out.append(Double(raw.bindMemory(to: Float.self)[at]))
      default: out.append(Double(raw.bindMemory(to: Int32.self)[at]))
      }
      var d = shape.count - 1
      while d >= 0 { index[d] += 1; if index[d] < shape[d] { break }; index[d] = 0; d -= 1 }
    }
  }
  return out
}

func cosine(_ a: [Double], _ b: [Double]) -> Double {
  var dot = 0.0, aa = 0.0, bb = 0.0
  for i in 0..<min(a.count, b.count) { dot += a[i] * b[i]; aa += a[i] * a[i]; bb += b[i] * b[i] }
  if a.count != b.count || !dot.isFinite { return -1 }
  return aa == 0 || bb == 0 ? (aa == bb ? 1 : 0) : dot / (aa * bb).squareRoot()
}

func place(_ block: MLModelStructure.Program.Block, _ plan: MLComputePlan, _ all: inout Unit, _ byOp: inout [String: Unit]) {
  for op in block.operations {
    for inner in op.blocks { place(inner, plan, &all, &byOp) }
    // Constants run nowhere.
    if op.operatorName.hasSuffix("const") || op.operatorName.contains("constexpr") { continue }
    var one = byOp[op.operatorName] ?? Unit()
    switch plan.deviceUsage(for: op)?.preferred {
    case .some(.neuralEngine): all.ane += 1; one.ane += 1
    case .some(.gpu): all.gpu += 1; one.gpu += 1
    case .some(.cpu): all.cpu += 1; one.cpu += 1
    default: all.unknown += 1; one.unknown += 1
    }
    byOp[op.operatorName] = one
  }
}

func nameOf(_ device: MLComputeDevice) -> String {
  switch device {
  case .neuralEngine: return "ane"
  case .gpu: return "gpu"
  case .cpu: return "cpu"
  @unknown default: return "unknown"
  }
}

// The operations of the outermost block in order, constants included.
func operations(of block: MLModelStructure.Program.Block, _ plan: MLComputePlan) -> [Operation] {
  block.operations.map { op in
    let usage = plan.deviceUsage(for: op)
    let cost = plan.estimatedCost(of: op)?.weight ?? 0
    return Operation(name: op.outputs.first?.name ?? "", type: op.operatorName,
      device: usage.map { nameOf($0.preferred) } ?? "unknown",
      supported: (usage?.supported ?? []).map(nameOf).filter { $0 != "unknown" },
      cost: cost.isFinite ? min(max(cost, 0), 1) : 0)
  }
}

func run(_ probe: Probe, _ package: Package, _ function: Function, _ root: URL, _ runs: Int) async -> Result {
  var result = Result(probe: probe.id, package: package.path, function: function.name)
  do {
    let configuration = MLModelConfiguration()
    configuration.computeUnits = .cpuAndNeuralEngine
    if !function.is_main { configuration.functionName = function.name }
    let start = now()
    let compiled = try await MLModel.compileModel(at: root.appendingPathComponent(package.path))
    defer { try? FileManager.default.removeItem(at: compiled) }
    result.compile_ms = now() - start
    let before = now()
    let model = try await MLModel.load(contentsOf: compiled, configuration: configuration)
    result.load_ms = now() - before

    let plan = try await MLComputePlan.load(contentsOf: compiled, configuration: configuration)
    if case .program(let program) = plan.modelStructure,
      let body = program.functions[function.name] ?? program.functions["main"] {
      var all = Unit(); var byOp = [String: Unit]()
      place(body.block, plan, &all, &byOp)
      result.placement = all; result.placement_by_op = byOp
      result.operations = operations(of: body.block, plan)
    }

    var values = [String: MLFeatureValue]()
    for port in function.inputs { values[port.name] = MLFeatureValue(multiArray: try load(port, root)) }
    let inputs = try MLDictionaryFeatureProvider(dictionary: values)
    let state = function.has_states ? model.makeState() : nil
    func predict() async throws -> MLFeatureProvider {
      if let state { return try await model.prediction(from: inputs, using: state) }
      return try await model.prediction(from: inputs)
    }
    // The first run is from zero states, as the expected outputs are.
    let first = try await predict()
    var least = 1.0
    for port in function.outputs {
      guard let got = first.featureValue(for: port.name)?.multiArrayValue else { least = -1; continue }
      least = min(least, cosine(numbers(got), numbers(try load(port, root))))
    }
    result.cosine = least
    var times = [Double]()
    for i in 0..<(runs + 5) {
      let begin = now()
      _ = try await predict()
      if i >= 5 { times.append(now() - begin) }
    }
    times.sort()
    result.median_ms = times[times.count / 2]
    result.runs = runs
  } catch { result.error = String(describing: error) }
  return result
}

@main struct Main {
  static func main() async throws {
    let root = URL(fileURLWithPath: FileManager.default.currentDirectoryPath)
    let runs = max(1, CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 50)
    let kit = try JSONDecoder().decode(Kit.self, from: Data(contentsOf: root.appendingPathComponent("probe.json")))
    var results = [Result]()
    // Probes may share a package. A second load of it would find what the first one left in caches.
    var measured = [String: Result]()
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
    for probe in kit.probes {
      for package in probe.packages {
        for function in package.functions {
          print("\(probe.id) \(function.name)")
          let key = "\(package.path) \(function.name)"
          if measured[key] == nil { measured[key] = await run(probe, package, function, root, runs) }
          var result = measured[key]!
          result.probe = probe.id
          results.append(result)
          // After each one, so that a crash in Core ML leaves what came before.
          let all = Results(format: 1, anemone: kit.anemone, system: ProcessInfo.processInfo.operatingSystemVersionString,
            model: machine(), results: results)
          try encoder.encode(all).write(to: root.appendingPathComponent("results.json"))
        }
      }
    }
  }
}
)swift";

}  // namespace anemone::probe
