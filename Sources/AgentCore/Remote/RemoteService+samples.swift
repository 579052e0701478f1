internal import JSON
internal import LiveSensors
internal import Pipeline
internal import Platform
internal import Sensors
internal import Spatial
internal import Telemetry

/// The commands `record`, `history` and `samples`.
extension RemoteService {
  /// Answers with the first recorded samples of a time span, and with the time from which the rest can be
  /// requested.
  func sendHistory(
    _ from: UTCTime, _ to: UTCTime, _ sender: PendingCommands.Sender, _ memory: borrowing MotionMemory
  ) {
    do throws(SystemError) {
      guard let recorded = try memory.recorded(from: from, to: to) else {
        return answer(
          sender, .failed,
          "nothing is recorded; send the command record, or set recorder.enabled = true in the vehicle's configuration"
        )
      }
      var result: [String: JSONValue] = ["samples": recorded.piece.json]
      if let next = recorded.next { result["next"] = .string(next.rfc3339) }
      if let span = recorded.span {
        result["recorded"] = .object([
          "from": .string(span.start.rfc3339), "to": .string(span.end.rfc3339),
        ])
      }
      answer(sender, .done, result: .object(result), isLogged: recorded.next == nil)
    } catch { answer(sender, .failed, "the recorder's file cannot be read: \(error)") }
  }

  /// Records the accelerometer for a time, within the configured limits.
  func beginRecording(
    _ seconds: Double, _ sender: PendingCommands.Sender, _ pipeline: inout AgentPipeline,
    _ memory: inout MotionMemory
  ) {
    let limit = manager.active.remote.recordSeconds
    guard limit > 0 else {
      return answer(sender, .refused, "this vehicle records nothing on command; set remote.record_seconds")
    }
    guard seconds <= limit else {
      return answer(
        sender, .refused,
        "key \"seconds\": at most \(limit.plain) (remote.record_seconds); ask for less")
    }
    if let reason = pipeline.reason(against: .accelerometer) {
      return answer(sender, .failed, "no accelerometer: \(reason)")
    }
    do throws(ConfigurationError) { try memory.record(seconds: seconds) } catch {
      return answer(sender, .failed, "\(error)")
    }
    let end = Timestamp.now.advanced(bySeconds: seconds + Self.recordingMargin)
    recordingEnd = recordingEnd.map { max($0, end) } ?? end
    demandSamples(&pipeline)
    let start = pipeline.civilTime
    answer(
      sender, .done,
      result: .object([
        "from": .string(start.rfc3339), "to": .string(start.advanced(bySeconds: seconds).rfc3339),
      ]))
  }

  /// Time in s that the accelerometer needs to start and to deliver its last block.
  private static let recordingMargin = 5.0
  /// Rate in Hz at which `SensorRecorder` stores samples.
  private static let recordingRate = 50.0

  /// Starts to collect raw samples, within the configured limits.
  /// - Parameter kinds: kinds of sensors; nil for all available ones.
  func beginSamples(
    _ seconds: Double, _ rate: Double, _ kinds: Set<SamplePiece.Kind>?, _ sender: PendingCommands.Sender,
    _ pipeline: inout AgentPipeline
  ) {
    let limits = manager.active.remote
    guard limits.samplesSeconds > 0 else {
      return answer(sender, .refused, "raw samples are disabled; set remote.samples_seconds")
    }
    guard seconds <= limits.samplesSeconds else {
      return answer(
        sender, .refused,
        "key \"seconds\": at most \(limits.samplesSeconds.plain) (remote.samples_seconds); ask for less")
    }
    guard rate <= limits.samplesRate else {
      return answer(
        sender, .refused,
        "key \"rate\": at most \(limits.samplesRate.plain) (remote.samples_rate); ask for less")
    }
    let absent = (kinds ?? Set(SamplePiece.Kind.allCases)).sorted { $0.rawValue < $1.rawValue }.compactMap {
      kind in pipeline.reason(against: kind.sensor).map { (kind, "no \(kind.rawValue): \($0)") }
    }
    let present = (kinds ?? Set(SamplePiece.Kind.allCases)).subtracting(absent.map(\.0))
    guard !present.isEmpty, kinds == nil || absent.isEmpty else {
      return answer(sender, .failed, absent.map(\.1).joined(separator: "; "))
    }
    let request = RawSamples.Request(seconds: seconds, rate: rate, kinds: present)
    guard rawSamples.begin(request, sender, at: .now) else {
      return answer(
        sender, .failed,
        "\(RawSamples.capacity) requests for raw samples are running already; try again later")
    }
    demandSamples(&pipeline)
  }

  /// Answers with the completed pieces.
  func sendSamples(_ pipeline: inout AgentPipeline) {
    if let end = recordingEnd, Timestamp.now >= end {
      recordingEnd = nil
      demandSamples(&pipeline)
    }
    let parts = rawSamples.drain(at: .now)
    guard !parts.isEmpty else { return }
    for part in parts {
      guard part.number > 0 || part.hasMore || part.piece.count > 0 else {
        answer(part.sender, .failed, "the sensors delivered no samples; see sources in status")
        continue
      }
      var result: [String: JSONValue] = [
        "samples": part.piece.json, "piece": .integer(Int64(part.number)),
        "kinds": .array(part.kinds.map { .string($0.rawValue) }),
      ]
      if part.hasMore { result["more"] = .bool(true) }
      answer(part.sender, .done, result: .object(result), isLogged: !part.hasMore)
    }
    demandSamples(&pipeline)
  }

  private func demandSamples(_ pipeline: inout AgentPipeline) {
    var rates = rawSamples.rates
    if recordingEnd != nil {
      rates[.accelerometer] = max(rates[.accelerometer] ?? 0, Self.recordingRate)
    }
    if pipeline.requestSamples(rates) { isReconfigured = true }
  }
}

extension Double {
  fileprivate var plain: String { self == rounded() && abs(self) < 1e15 ? "\(Int(self))" : "\(self)" }
}
