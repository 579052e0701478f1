internal import CCurl
internal import Glibc
internal import Platform

/// The times and sizes that a transfer has at most.
package struct TransferLimits: Hashable, Sendable {
  /// Milliseconds until there is a connection, and until all of the answer is there.
  package var connect: Int
  package var total: Int
  /// Milliseconds beyond `total` until what was uploaded as a whole is answered.
  package var verdict: Int
  /// Bytes of an answer.
  package var size: Int

  package init(connect: Int = 5_000, total: Int = 15_000, verdict: Int = 0, size: Int = 1 << 16) {
    (self.connect, self.total, self.verdict, self.size) = (connect, total, verdict, size)
  }
}

/// Why there is no answer.
package struct TransferFailure: Error, Hashable, Sendable {
  package enum Kind: Hashable, Sendable {
    /// The program is to end.
    case interrupted
    /// The answer has more bytes than the limit.
    case tooLong
    /// The certificate or encryption of the other side is not to be trusted.
    case untrusted
    /// Anything else, as a refused connection or a time that is over.
    case failed
  }

  package var kind: Kind
  /// A sentence of the library's.
  package var text: String
}

/// A handle of libcurl's, for one transfer after the other, by one thread at a time. What comes is bounded in size and time, and not
/// unpacked; certificates are checked; nothing is followed elsewhere. The corresponding C type is `CURL`.
@safe final class CurlTransfer {
  private let limits: TransferLimits
  private let goesOn: () -> Bool
  private let handle: UnsafeMutableRawPointer
  private let errors: UnsafeMutablePointer<CChar>
  private var lists: [UnsafeMutablePointer<curl_slist>] = unsafe []
  private var upload: ArraySlice<UInt8> = []
  private var uploadCount = 0
  private var isTooLong = false
  /// `SystemClock.monotonic`: until then an upload is over; nil where only the whole has a time.
  private var uploadEnd: Int64?
  private var isLate = false
  private(set) var answer: [UInt8] = []

  /// Once for the process, before the first handle.
  private static let isReady: Bool = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

  /// - Parameter goesOn: asked some times a second; when it says no, the transfer is left.
  /// - Returns: nil when the library cannot be used.
  init?(_ limits: TransferLimits, goesOn: @escaping () -> Bool) {
    guard Self.isReady, let handle = unsafe curl_easy_init() else { return nil }
    (self.limits, self.goesOn) = (limits, goesOn)
    unsafe self.handle = unsafe handle
    unsafe errors = .allocate(capacity: Int(CURL_ERROR_SIZE))
    unsafe errors.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
  }

  deinit {
    unsafe curl_easy_cleanup(handle)
    freeLists()
    unsafe errors.deallocate()
  }

  private func freeLists() {
    while let list = unsafe lists.popLast() { unsafe curl_slist_free_all(list) }
  }

  /// One transfer, from its settings to its end.
  /// - Parameters:
  ///   - headers: lines of an HTTP request; empty for none.
  ///   - recipients: of a letter; empty for none.
  ///   - upload: what is sent as the transfer's own text, piece by piece.
  /// - Throws: `TransferFailure` where there is no answer: what cannot be bounded is not tried.
  func perform(
    texts: [(CURLoption, String)], numbers: [(CURLoption, Int)] = [], headers: [String] = [],
    recipients: [String] = [], upload: [UInt8] = []
  ) throws(TransferFailure) {
    (answer, isTooLong, isLate, self.upload) = ([], false, false, upload[...])
    uploadCount = upload.count
    uploadEnd = limits.verdict > 0 ? SystemClock.monotonic + Int64(limits.total) * 1_000_000 : nil
    unsafe errors[0] = 0
    unsafe curl_easy_reset(handle)
    freeLists()
    let bounds: [(CURLoption, Int)] = [
      (CURLOPT_NOSIGNAL, 1), (CURLOPT_FOLLOWLOCATION, 0), (CURLOPT_CONNECTTIMEOUT_MS, limits.connect),
      (CURLOPT_TIMEOUT_MS, limits.total + limits.verdict), (CURLOPT_MAXFILESIZE, limits.size),
      (CURLOPT_SSL_VERIFYPEER, 1),
      (CURLOPT_SSL_VERIFYHOST, 2),
    ]
    var codes: [CURLcode] = []
    for (option, text) in texts { codes.append(unsafe odograph_curl_set_text(handle, option, text)) }
    for (option, number) in bounds + numbers {
      codes.append(unsafe odograph_curl_set_number(handle, option, number))
    }
    let context = unsafe Unmanaged.passUnretained(self).toOpaque()
    codes += [
      unsafe odograph_curl_set_errors(handle, errors),
      unsafe odograph_curl_set_writer(handle, Self.writer, context),
      unsafe odograph_curl_set_watch(handle, Self.watch, context),
      unsafe odograph_curl_set_reader(handle, Self.reader, context),
    ]
    if !headers.isEmpty {
      let list = unsafe list(headers)
      codes.append(unsafe odograph_curl_set_headers(handle, list))
    }
    if !recipients.isEmpty {
      let list = unsafe list(recipients)
      codes.append(unsafe odograph_curl_set_recipients(handle, list))
    }
    guard codes.allSatisfy({ $0 == CURLE_OK }) else {
      throw TransferFailure(kind: .failed, text: "libcurl does not take the question")
    }
    let code = unsafe curl_easy_perform(handle)
    guard code == CURLE_OK else { throw failure(code) }
  }

  private func list(_ lines: [String]) -> UnsafeMutablePointer<curl_slist>? {
    var list: UnsafeMutablePointer<curl_slist>?
    for line in lines { unsafe list = unsafe curl_slist_append(list, line) }
    if let list = unsafe list { unsafe lists.append(list) }
    return unsafe list
  }

  /// The last status of the other side: of HTTP, or of SMTP.
  var status: Int { unsafe odograph_curl_status(handle) }

  /// Whether the other side was given all of what there was to upload.
  var isUploaded: Bool { uploadCount > 0 && upload.isEmpty }

  /// The media type that the other side states; empty for none.
  var contentType: String {
    unsafe odograph_curl_content_type(handle).map { unsafe String(cString: $0) } ?? ""
  }

  /// Seconds after which the other side wants to be asked again; nil where it does not say.
  var retryAfter: Double? {
    let seconds = unsafe odograph_curl_retry_after(handle)
    return seconds > 0 ? Double(seconds) : nil
  }

  private static let writer: odograph_curl_writer = { bytes, size, count, context in
    unsafe from(context).take(UnsafeRawBufferPointer(start: bytes, count: size * count))
  }

  private static let reader: odograph_curl_reader = { bytes, size, count, context in
    unsafe from(context).give(UnsafeMutableRawBufferPointer(start: bytes, count: size * count))
  }

  private static let watch: odograph_curl_watch = { context, _, _, _, _ in
    unsafe from(context).mayGoOn() ? 0 : 1
  }

  /// The library calls back while `perform` holds the object only.
  private static func from(_ context: UnsafeMutableRawPointer?) -> CurlTransfer {
    // It is what `perform` has given, never nil.
    unsafe Unmanaged<CurlTransfer>.fromOpaque(context.unsafelyUnwrapped).takeUnretainedValue()
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

  private func mayGoOn() -> Bool {
    if let uploadEnd, !upload.isEmpty, SystemClock.monotonic > uploadEnd { isLate = true }
    return !isLate && goesOn()
  }

  private func give(_ room: UnsafeMutableRawBufferPointer) -> Int {
    let piece = upload.prefix(room.count)
    unsafe room.copyBytes(from: piece)
    upload = upload.dropFirst(piece.count)
    return piece.count
  }

  private func failure(_ code: CURLcode) -> TransferFailure {
    if isLate { return TransferFailure(kind: .failed, text: "it takes longer than \(limits.total / 1000) s") }
    if code == CURLE_ABORTED_BY_CALLBACK { return TransferFailure(kind: .interrupted, text: "it was left") }
    if isTooLong || code == CURLE_FILESIZE_EXCEEDED {
      return TransferFailure(kind: .tooLong, text: "its answer has more than \(limits.size) bytes")
    }
    let detail = unsafe String(cString: errors)
    let text = detail.isEmpty ? unsafe String(cString: curl_easy_strerror(code)) : detail
    switch code {
    case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CACERT_BADFILE,
      CURLE_USE_SSL_FAILED:
      return TransferFailure(
        kind: .untrusted, text: "its certificate or encryption is not to be trusted: \(text)")
    default: return TransferFailure(kind: .failed, text: text)
    }
  }
}
