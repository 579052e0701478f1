internal import JSON
internal import Transfers

/// Asks one service by HTTP. What comes is bounded in size and time, from nowhere else than where it was asked, and not unpacked;
/// certificates are checked.
final class GeolocateClient {
  private let address: GeolocateAddress
  private let transfer: WebTransfer

  /// - Parameter goesOn: asked some times a second; when it says no, the question is left.
  /// - Returns: nil when the library cannot be used.
  init?(
    _ address: GeolocateAddress, _ limits: TransferLimits = TransferLimits(), goesOn: @escaping () -> Bool
  ) {
    guard let transfer = WebTransfer(limits, goesOn: goesOn) else { return nil }
    (self.address, self.transfer) = (address, transfer)
  }

  func ask(_ question: GeolocateQuestion) -> GeolocateOutcome {
    let request = WebRequest(
      url: address.request, headers: ["Content-Type: application/json", "Accept: application/json"],
      body: String(decoding: question.body, as: UTF8.self),
      // What is asked of this machine goes through nobody.
      isDirect: address.isLocal)
    do throws(TransferFailure) { return outcome(try transfer.post(request)) } catch {
      switch error.kind {
      case .interrupted: return .interrupted
      case .untrusted: return .refused(error.text)
      case .tooLong, .failed: return .failed(error.text)
      }
    }
  }

  private func outcome(_ answer: WebAnswer) -> GeolocateOutcome {
    let (status, type) = (answer.status, answer.type)
    let isJSON = type.lowercased().prefix { $0 != ";" && $0 != " " } == "application/json"
    let json = isJSON ? try? JSONValue(parsing: answer.body) : nil
    switch status {
    case 200:
      guard isJSON else { return .failed("its answer is no JSON but \"\(type.prefix(60))\"") }
      do throws(JSONError) { return .answered(try GeolocateAnswer(parsing: answer.body)) } catch {
        return .failed("its answer makes no sense: \(error.description.prefix(200))")
      }
    case 404 where json?["error"] != nil: return .unknown
    case 404: return .refused("nothing answers at this path (404)")
    case 429, 500...599:
      return .busy(
        status == 429 ? "it is asked too often (429)" : "it is out of order (\(status))",
        after: answer.retryAfter)
    case 300...399:
      return .refused(
        "it sends elsewhere (\(status)), which nobody has named; name that address, if it is right")
    // It does not take this question, and will not take it later either.
    case 400 where json?["error"] != nil && !isOfTheKey(json): return .unknown
    case 400, 401, 403:
      return .refused(
        "it does not let this fleet in (\(status)\(reason(json))); check the key and its limits")
    default: return .failed("it answers with status \(status)")
    }
  }

  /// Whether an error is one of who asks, and not of what: Ichnaea has one status for both.
  private func isOfTheKey(_ json: JSONValue?) -> Bool {
    let reasons = json?["error"]?["errors"]?.array?.compactMap { $0["reason"]?.string } ?? []
    let message = json?["error"]?["message"]?.string ?? ""
    return (reasons + [message]).contains { $0.lowercased().contains("key") }
  }

  /// What it says of why, bounded, and without the key, which it may repeat.
  private func reason(_ json: JSONValue?) -> String {
    guard var message = json?["error"]?["message"]?.string else { return "" }
    if let key = address.key { message = message.replacing(key, with: "…") }
    return ": \(message.prefix(100))"
  }
}
