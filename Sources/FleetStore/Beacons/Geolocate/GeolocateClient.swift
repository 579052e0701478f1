internal import JSON
internal import Transfers

/// An HTTP client for one service. Responses are limited in size and time, and are not decompressed.
/// Certificates are verified, and redirects are not followed.
final class GeolocateClient {
  private let address: GeolocateAddress
  private let transfer: WebTransfer

  /// Creates a client.
  ///
  /// - Parameter shouldContinue: called several times a second; the query is aborted if it returns false.
  /// - Returns: nil if libcurl is not available.
  init?(
    _ address: GeolocateAddress, _ limits: TransferLimits = TransferLimits(),
    shouldContinue: @escaping () -> Bool
  ) {
    guard let transfer = WebTransfer(limits, shouldContinue: shouldContinue) else { return nil }
    (self.address, self.transfer) = (address, transfer)
  }

  func ask(_ question: GeolocateQuestion) -> GeolocateOutcome {
    let request = WebRequest(
      url: address.request, headers: ["Content-Type: application/json", "Accept: application/json"],
      body: String(decoding: question.body, as: UTF8.self),
      // A service on this machine is accessed without an HTTP proxy.
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
        return .failed("invalid response: \(error.description.prefix(200))")
      }
    case 404 where json?["error"] != nil: return .unknown
    case 404: return .refused("not found (404)")
    case 429, 500...599:
      return .busy(
        status == 429 ? "too many requests (429)" : "it failed (\(status))",
        after: answer.retryAfter)
    case 300...399:
      return .refused(
        "it redirects to another address (\(status)); if that address is correct, configure it")
    // The service rejects this query, not the client: a repetition would not succeed.
    case 400 where json?["error"] != nil && !isOfTheKey(json): return .unknown
    case 400, 401, 403:
      return .refused(
        "access denied (\(status)\(reason(json))); check the key and its limits")
    default: return .failed("it answers with status \(status)")
    }
  }

  /// Returns whether an error concerns the API key and not the query. Ichnaea, Mozilla's location service,
  /// uses status 400 for both.
  private func isOfTheKey(_ json: JSONValue?) -> Bool {
    let reasons = json?["error"]?["errors"]?.array?.compactMap { $0["reason"]?.string } ?? []
    let message = json?["error"]?["message"]?.string ?? ""
    return (reasons + [message]).contains { $0.lowercased().contains("key") }
  }

  /// Returns the service's error message with limited length. It could contain the key, which is removed.
  private func reason(_ json: JSONValue?) -> String {
    guard var message = json?["error"]?["message"]?.string else { return "" }
    if let key = address.key { message = message.replacing(key, with: "…") }
    return ": \(message.prefix(100))"
  }
}
