internal import JSON
internal import Spatial
internal import Traces

/// The output of `odograph trace verify`.
package enum TraceSummary {
  package static func text(_ trace: TraceReading, _ size: Int) -> String {
    let counts = trace.counts.map { "\($0.name) \($0.count)" }.joined(separator: ", ")
    var lines = [
      "moment   \(trace.time(of: trace.head.moment)?.rfc3339 ?? "unknown: the vehicle had no civil time")",
      "span     "
        + (trace.span.map {
          "\(ExportText.decimal($0.lowerBound, 3)) to \(ExportText.decimal($0.upperBound, 3)) s"
        } ?? "none"),
      "samples  " + (counts.isEmpty ? "none" : counts),
      "size     \(size) bytes, \(trace.blocks) block\(trace.blocks == 1 ? "" : "s")",
    ]
    if trace.strays > 0 {
      lines.append("left out \(trace.strays) samples more than a day before or after the trace")
    }
    lines.append(trace.damage.map { "damaged: \($0)" } ?? "ok: the checksum of each block is verified")
    return lines.joined(separator: "\n") + "\n"
  }

  /// Returns the result as one line of JSON.
  package static func json(_ trace: TraceReading, _ size: Int) -> [UInt8] {
    JSONWriter.object { json in
      json.field("verdict", trace.isWhole ? "ok" : "damaged")
      json.field("time", trace.time(of: trace.head.moment)?.rfc3339)
      json.field("before", trace.span.map { -$0.lowerBound }, decimals: 6)
      json.field("after", trace.span?.upperBound, decimals: 6)
      json.field("samples") { json in
        for (name, count) in trace.counts {
          json.key(name)
          json.value(count)
        }
      }
      json.field("size", size)
      json.field("blocks", trace.blocks)
      json.field("unreadableBlocks", trace.unreadable)
      json.field("lostBytes", trace.lostBytes)
      json.field("strays", trace.strays)
    } + [0x0a]
  }
}
