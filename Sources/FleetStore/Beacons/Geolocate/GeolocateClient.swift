internal import CCurl
internal import Glibc
internal import JSON
internal import Platform

/// Asks one service by HTTP, through libcurl. What comes is bounded in size and time, from nowhere else than where it was asked, and
/// not unpacked; certificates are checked.
@safe final class GeolocateClient {
  struct Limits: Hashable, Sendable {
    /// Milliseconds until there is a connection, and until all of the answer is there.
    var connect = 5_000
    var total = 15_000
    /// Bytes of an answer.
    var size = 1 << 16
  }

  private let address: GeolocateAddress
  private let limits: Limits
  private let goesOn: () -> Bool
  private let handle: UnsafeMutableRawPointer
  private let headers: UnsafeMutablePointer<curl_slist>?
  private let errors: UnsafeMutablePointer<CChar>
  private var answer: [UInt8] = []
  private var isTooLong = false

  /// Once for the process, before the first handle.
  private static let isReady: Bool = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

  /// - Parameter goesOn: asked some times a second; when it says no, the question is left.
  /// - Returns: nil when the library cannot be used.
  init?(_ address: GeolocateAddress, _ limits: Limits = Limits(), goesOn: @escaping () -> Bool) {
    guard Self.isReady, let handle = unsafe curl_easy_init() else { return nil }
    (self.address, self.limits, self.goesOn) = (address, limits, goesOn)
    unsafe self.handle = unsafe handle
    unsafe errors = .allocate(capacity: Int(CURL_ERROR_SIZE))
    unsafe errors.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
    var list: UnsafeMutablePointer<curl_slist>?
    // An empty one says that the body is not to be announced and waited for.
    for header in ["Content-Type: application/json", "Accept: application/json", "Expect:"] {
      unsafe list = unsafe curl_slist_append(list, header)
    }
    unsafe headers = unsafe list
  }

  deinit {
    unsafe curl_easy_cleanup(handle)
    unsafe curl_slist_free_all(headers)
    unsafe errors.deallocate()
  }

  func ask(_ question: GeolocateQuestion) -> GeolocateOutcome {
    (answer, isTooLong) = ([], false)
    unsafe errors[0] = 0
    guard prepare(String(decoding: question.body, as: UTF8.self)) else {
      return .failed("libcurl does not take the question")
    }
    let code = unsafe curl_easy_perform(handle)
    guard code == CURLE_OK else { return failure(code) }
    return outcome(
      status: unsafe odograph_curl_status(handle),
      type: unsafe odograph_curl_content_type(handle).map { unsafe String(cString: $0) } ?? "")
  }

  /// - Returns: whether all of it was taken: what cannot be bounded is not asked.
  private func prepare(_ body: String) -> Bool {
    unsafe curl_easy_reset(handle)
    let texts: [(CURLoption, String)] =
      [
        (CURLOPT_URL, address.request), (CURLOPT_PROTOCOLS_STR, "http,https"),
        (CURLOPT_USERAGENT, "odograph/\(BuildInformation.current.version)"),
        (CURLOPT_COPYPOSTFIELDS, body),
      ]
      // What is asked of this machine goes through nobody; else the environment says (http_proxy, no_proxy).
      + (address.isLocal ? [(CURLOPT_PROXY, "")] : [])
    let numbers: [(CURLoption, Int)] = [
      (CURLOPT_NOSIGNAL, 1), (CURLOPT_FOLLOWLOCATION, 0), (CURLOPT_CONNECTTIMEOUT_MS, limits.connect),
      (CURLOPT_TIMEOUT_MS, limits.total), (CURLOPT_MAXFILESIZE, limits.size), (CURLOPT_SSL_VERIFYPEER, 1),
      (CURLOPT_SSL_VERIFYHOST, 2), (CURLOPT_HTTP09_ALLOWED, 0),
    ]
    for (option, text) in texts {
      guard unsafe odograph_curl_set_text(handle, option, text) == CURLE_OK else { return false }
    }
    for (option, number) in numbers {
      guard unsafe odograph_curl_set_number(handle, option, number) == CURLE_OK else { return false }
    }
    let context = unsafe Unmanaged.passUnretained(self).toOpaque()
    let codes = [
      unsafe odograph_curl_set_headers(handle, headers), unsafe odograph_curl_set_errors(handle, errors),
      unsafe odograph_curl_set_writer(handle, Self.writer, context),
      unsafe odograph_curl_set_watch(handle, Self.watch, context),
    ]
    return codes.allSatisfy { $0 == CURLE_OK }
  }

  private static let writer: odograph_curl_writer = { bytes, size, count, context in
    unsafe from(context).take(UnsafeRawBufferPointer(start: bytes, count: size * count))
  }

  private static let watch: odograph_curl_watch = { context, _, _, _, _ in
    unsafe from(context).goesOn() ? 0 : 1
  }

  /// The library calls back while `ask` holds the object only.
  private static func from(_ context: UnsafeMutableRawPointer?) -> GeolocateClient {
    // It is what `prepare` has given, never nil.
    unsafe Unmanaged<GeolocateClient>.fromOpaque(context.unsafelyUnwrapped).takeUnretainedValue()
  }

  /// - Returns: how many bytes were taken; fewer end the transfer.
  private func take(_ bytes: UnsafeRawBufferPointer) -> Int {
    guard answer.count + bytes.count <= limits.size else {
      isTooLong = true
      return 0
    }
    unsafe answer.append(contentsOf: bytes)
    return bytes.count
  }

  private func failure(_ code: CURLcode) -> GeolocateOutcome {
    if code == CURLE_ABORTED_BY_CALLBACK { return .interrupted }
    if isTooLong || code == CURLE_FILESIZE_EXCEEDED {
      return .failed("its answer has more than \(limits.size) bytes")
    }
    let detail = unsafe String(cString: errors)
    let text = detail.isEmpty ? unsafe String(cString: curl_easy_strerror(code)) : detail
    switch code {
    case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CACERT_BADFILE:
      return .refused("its certificate or encryption is not to be trusted: \(text)")
    default: return .failed(text)
    }
  }

  private func outcome(status: Int, type: String) -> GeolocateOutcome {
    let isJSON = type.lowercased().prefix { $0 != ";" && $0 != " " } == "application/json"
    let json = isJSON ? try? JSONValue(parsing: answer) : nil
    switch status {
    case 200:
      guard isJSON else { return .failed("its answer is no JSON but \"\(type.prefix(60))\"") }
      do throws(JSONError) { return .answered(try GeolocateAnswer(parsing: answer)) } catch {
        return .failed("its answer makes no sense: \(error.description.prefix(200))")
      }
    case 404 where json?["error"] != nil: return .unknown
    case 404: return .refused("nothing answers at this path (404)")
    case 429, 500...599:
      let after = unsafe odograph_curl_retry_after(handle)
      return .busy(
        status == 429 ? "it is asked too often (429)" : "it is out of order (\(status))",
        after: after > 0 ? Double(after) : nil)
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
