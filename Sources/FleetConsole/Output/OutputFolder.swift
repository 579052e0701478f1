package import Fleet
internal import Glibc
internal import Platform

/// Where a command writes files in folders of one folder, as partitions are: it is there only when all of it is whole.
///
/// Everything is written under another name beside it, and takes its own name, and the mode of the folder that was there
/// before, at the end. What is replaced is exchanged at once, and then removed. Links are followed.
///
/// Or it goes into a folder that is there: then each partition takes its place by itself, and all others stay.
@safe package struct OutputFolder: ~Copyable {
  private let plan: Plan
  private var isFinished = false

  /// What is to be done at the end.
  private struct Plan {
    /// As it was given.
    var path: String
    /// The folder that is written and the name that it gets.
    var draft: String
    var target: String
    /// The folder that is there before; nil when there is none.
    var found: FileState?
    /// Its files, which are replaced: folder and name.
    var replaced: [(folder: String, name: String)]
    /// Whether what is written goes into the folder that is there.
    var isUpdate = false
    let isOurs: (String) -> Bool
  }

  /// Folders that were made for files, in order.
  private var partitions: [String] = []

  /// - Parameters:
  ///   - path: of the folder; an empty one may be there already.
  ///   - replaces: whether one with files may be there.
  ///   - updates: whether partitions go into the folder that is there, in the place of the same ones.
  ///   - inputs: files that the command reads, which are never replaced.
  ///   - isOurs: whether "folder/name" is a file that this folder is for. Nothing else is ever removed.
  /// - Throws: `FleetError` for what cannot, or is not to, be written.
  package init(
    path: String, replaces: Bool, updates: Bool = false, inputs: [String],
    isOurs: @escaping (String) -> Bool
  ) throws(FleetError) {
    plan = try Self.begin(path, replaces, updates, inputs, isOurs)
  }

  /// Makes the draft, once nothing speaks against it.
  private static func begin(
    _ path: String, _ replaces: Bool, _ updates: Bool, _ inputs: [String],
    _ isOurs: @escaping (String) -> Bool
  ) throws(FleetError) -> Plan {
    var trimmed = path[...]
    while trimmed.count > 1, trimmed.hasSuffix("/") { trimmed.removeLast() }
    let target = try OutputFile.target(of: String(trimmed))
    guard let name = target.split(separator: "/").last, name != ".", name != ".." else {
      throw .usage("write", path, "it names no folder that could be made; name one")
    }
    let found = FileState(target)
    var replaced: [(folder: String, name: String)] = []
    if found != nil {
      if updates {
        try checkFolder(target, path)
      } else {
        replaced = try files(of: target, path, inputs, isOurs)
        guard replaced.isEmpty || replaces else {
          throw .usage("write", path, "it is there already; --force replaces it")
        }
      }
    }
    let above = target.lastIndex(of: "/").map { String(target[...$0]) } ?? ""
    let draft = "\(above).\(name.utf8.count > 200 ? "odograph" : name).\(getpid()).part"
    guard unsafe mkdir(draft, 0o777) == 0 else {
      throw FleetError(
        operation: "create", object: path,
        cause: "\(SystemError.message(for: errno)); check the folder that it is in and its permissions",
        exit: .outputFailed)
    }
    return Plan(
      path: path, draft: draft, target: target, found: found, replaced: replaced,
      isUpdate: updates && found != nil, isOurs: isOurs)
  }

  deinit {
    if !isFinished { Self.removeTree(plan.draft) }
  }

  /// Where to write a file, in a folder, or a folder of a folder, that is made.
  package mutating func file(_ name: String, in folder: String) throws(FleetError) -> String {
    try Self.makeFolders(folder, in: plan.draft)
    if partitions.last != folder { partitions.append(folder) }
    return "\(plan.draft)/\(folder)/\(name)"
  }

  private static func makeFolders(_ folder: String, in root: String) throws(FleetError) {
    var place = root
    for part in folder.split(separator: "/") {
      place += "/" + part
      guard unsafe mkdir(place, 0o777) == 0 || errno == EEXIST else {
        throw OutputFile.failure("create", place, errno)
      }
    }
  }

  /// Gives the folder its name.
  package mutating func finish() throws(FleetError) {
    if plan.isUpdate { return try finishUpdate() }
    let (path, draft, replaced) = (plan.path, plan.draft, plan.replaced)
    if let found = plan.found, unsafe chmod(draft, found.mode) != 0 {
      throw OutputFile.failure("write", path, errno)
    }
    do throws(SystemError) {
      if replaced.isEmpty {
        // An empty folder gives way.
        try AtomicFile.move(draft, to: plan.target)
      } else {
        try AtomicFile.exchange(draft, with: plan.target)
      }
    } catch {
      let cause =
        error.code == EINVAL && !replaced.isEmpty
        ? "its file system cannot exchange folders; remove it first, or name another"
        : SystemError.message(for: error.code)
      throw FleetError(operation: "write", object: path, cause: cause, exit: .outputFailed)
    }
    isFinished = true
    guard !replaced.isEmpty else { return }
    for file in replaced { unsafe unlink("\(draft)/\(file.folder)/\(file.name)") }
    Self.removeFolders(of: replaced.map(\.folder), in: draft)
    guard unsafe rmdir(draft) == 0 else {
      throw FleetError(
        operation: "remove", object: draft,
        cause:
          "\(SystemError.message(for: errno)); \(path) is new and whole, this holds what was there before",
        exit: .outputFailed)
    }
  }

  /// Puts each partition into its place in the folder that is there, once nothing speaks against any of them.
  private mutating func finishUpdate() throws(FleetError) {
    var replaced: [[(folder: String, name: String)]] = []
    for partition in partitions {
      let place = "\(plan.target)/\(partition)"
      guard FileState(link: place) != nil else {
        replaced.append([])
        continue
      }
      replaced.append(try Self.files(of: plan.target, within: partition, plan.path, [], plan.isOurs))
    }
    for (partition, files) in zip(partitions, replaced) {
      let (draft, place) = ("\(plan.draft)/\(partition)", "\(plan.target)/\(partition)")
      if files.isEmpty, let end = partition.lastIndex(of: "/") {
        try Self.makeFolders(String(partition[..<end]), in: plan.target)
      }
      do throws(SystemError) {
        if files.isEmpty {
          try AtomicFile.move(draft, to: place)
        } else {
          try AtomicFile.exchange(draft, with: place)
        }
      } catch { throw OutputFile.failure("write", place, error.code) }
      for file in files { unsafe unlink("\(plan.draft)/\(file.folder)/\(file.name)") }
    }
    isFinished = true
    Self.removeFolders(of: partitions, in: plan.draft)
    unsafe rmdir(plan.draft)
  }

  /// Folders with those that they are in, as far as they are empty.
  private static func removeFolders(of folders: [String], in root: String) {
    var all: Set<String> = []
    for folder in folders {
      var parts = folder.split(separator: "/")
      while !parts.isEmpty {
        all.insert(parts.joined(separator: "/"))
        parts.removeLast()
      }
    }
    for folder in all.sorted(by: { $0.count > $1.count }) { unsafe rmdir("\(root)/\(folder)") }
  }

  private static func checkFolder(_ folder: String, _ path: String) throws(FleetError) {
    guard FileState(folder)?.isFolder == true else {
      throw .usage("write", path, "it is no folder, and a folder is what is written; name another")
    }
  }

  /// The files of a folder that is to be replaced, at any depth, by their folders' names in it.
  /// - Parameter part: of the folder, which is looked at; nil for all of it.
  /// - Throws: `FleetError` unless it holds nothing else than what may be.
  private static func files(
    of folder: String, within part: String? = nil, _ path: String, _ inputs: [String],
    _ isOurs: (String) -> Bool
  ) throws(FleetError) -> [(folder: String, name: String)] {
    let place = part.map { "\(folder)/\($0)" } ?? folder
    if part == nil { try checkFolder(folder, path) }
    func stranger() -> FleetError {
      .usage("write", path, "it holds \(part ?? ""), which is none of an export's; name another folder")
    }
    // A link in it leads elsewhere, where nothing may be removed.
    guard part == nil || FileState(link: place)?.isFolder == true else { throw stranger() }
    var files: [(folder: String, name: String)] = []
    for name in try names(in: place) {
      let inner = part.map { "\($0)/\(name)" } ?? name
      if part == nil || FileState(link: "\(folder)/\(inner)")?.isFolder == true {
        files += try Self.files(of: folder, within: inner, path, inputs, isOurs)
        continue
      }
      guard let part, isOurs(inner) else { throw stranger() }
      let file = FileState("\(folder)/\(inner)")
      guard file?.isFolder == false,
        !inputs.contains(where: { FileState($0).map { file?.isSameFile(as: $0) == true } == true })
      else { throw .usage("write", path, "\(inner) is what is read, or a folder; name another") }
      files.append((part, name))
    }
    // An empty folder is none of an export's.
    guard part == nil || !files.isEmpty else { throw stranger() }
    return files
  }

  private static func names(in folder: String) throws(FleetError) -> [String] {
    guard let directory = unsafe opendir(folder) else { throw OutputFile.failure("read", folder, errno) }
    defer { unsafe closedir(directory) }
    var names: [String] = []
    while let entry = unsafe readdir(directory) {
      let name = unsafe withUnsafeBytes(of: entry.pointee.d_name) { bytes in
        unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      if name != ".", name != ".." { names.append(name) }
    }
    return names.sorted()
  }

  /// A folder of this type's own making, of which no link is followed.
  private static func removeTree(_ folder: String) {
    for name in (try? names(in: folder)) ?? [] {
      let place = "\(folder)/\(name)"
      if FileState(link: place)?.isFolder == true { removeTree(place) } else { unsafe unlink(place) }
    }
    unsafe rmdir(folder)
  }
}
