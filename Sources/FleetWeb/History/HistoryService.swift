package import Fleet
internal import FleetProgram
package import FleetStore
internal import Platform
package import Prometheus

/// The history of a server: the readers of a recording and, if configured, a recorder.
package final class HistoryService: ServePart, MetricsSource {
  package let readers: HistoryReaders
  private let recorder: SideRecorder?

  /// Starts the readers, and starts recording if configured. A recording that is unavailable is opened later.
  /// - Returns: nil if there is no recording.
  /// - Throws: `FleetError` for invalid options.
  package static func start(_ context: ServeContext) throws(FleetError) -> HistoryService? {
    let configuration = context.configuration
    guard let recording = configuration.recording else { return nil }
    // The recorder is started before the readers, because it creates the tables that they read. It reports
    // only rejected subscriptions; the server's own session reports all other changes of the connection.
    let isRefused = Locked(false)
    let recorder =
      configuration.records
      ? try SideRecorder.start(
        into: recording, keep: configuration.keep, selection: context.selection, broker: context.broker,
        report: { StandardError.report($0.text) },
        connection: { connection in
          switch connection {
          case .refused(let filter, let reason):
            isRefused.withLock { $0 = true }
            StandardError.report(
              "\(FleetError.refused(filter: filter, reason: reason)); its messages are not recorded")
          case .subscribed:
            let wasRefused = isRefused.withLock { isRefused in
              defer { isRefused = false }
              return isRefused
            }
            if wasRefused { StandardError.report("recording again: all subscriptions are granted") }
          case .connected, .doubtful, .dropped, .disconnected: break
          }
        }) : nil
    do throws(FleetError) {
      return HistoryService(try HistoryReaders(recording), recorder)
    } catch {
      recorder?.stop()
      throw error
    }
  }

  private init(_ readers: HistoryReaders, _ recorder: SideRecorder?) {
    (self.readers, self.recorder) = (readers, recorder)
  }

  package func start() {}

  /// The progress of recording; nil if this server does not record.
  package var progress: SideRecorder.Progress? { recorder?.progress }

  package func write(to metrics: inout MetricsText) {
    guard let progress else { return }
    metrics.gauge(
      "record_failed",
      "1 while the recording cannot be written and messages wait at the broker, or the broker rejects a subscription.",
      progress.isFailed ? 1 : 0)
    metrics.counter(
      "record_messages_total", "Messages received for the recording and processed.", progress.received)
    metrics.counter("record_stored_total", "New messages stored.", progress.stored)
  }

  /// Stops all queries, and stores the received messages.
  package func stop() {
    readers.stop()
    recorder?.stop()
  }
}
