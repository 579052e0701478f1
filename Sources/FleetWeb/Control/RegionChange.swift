internal import Fleet
internal import FleetManagement
internal import HTTPTypes
internal import JSON

extension RegionRoutes {
  /// A change of several vehicles' regions.
  enum Change: Sendable {
    /// Replaces all regions.
    case set(RegionDocument)
    /// Adds regions, and replaces those with the same names.
    case add(RegionDocument)
    /// Removes the regions with these names.
    case remove([String])

    /// Parses a change.
    ///
    /// - Parameter members: the members of the request's body.
    /// - Throws: 400 and 422 for invalid input.
    init(_ members: [String: JSONValue]) throws(WebError) {
      if let names = members["remove"] {
        guard members["features"] == nil, members["add"] == nil else {
          throw .invalid("body", "key \"remove\": it cannot be combined with \"features\" and \"add\"")
        }
        self = .remove(try Self.names(names))
        return
      }
      guard let features = members["features"] else {
        throw .invalid(
          "body", "key \"features\": missing",
          remedy: "Give a GeoJSON FeatureCollection, or the names to \"remove\".")
      }
      // A bare array of features is read as the features of a FeatureCollection.
      let collection =
        features.array.map { _ in
          JSONValue.object(["type": .string("FeatureCollection"), "features": features])
        } ?? features
      let document = try RegionRoutes.document(collection)
      switch members["add"] {
      case nil, .bool(false): self = .set(document)
      case .bool(true): self = .add(document)
      default: throw .invalid("body", "key \"add\": must be true or false")
      }
    }

    private static func names(_ json: JSONValue) throws(WebError) -> [String] {
      let names = json.array?.compactMap(\.string) ?? []
      guard !names.isEmpty, names.count == json.array?.count, !names.contains("") else {
        throw .invalid(
          "body", "key \"remove\": must be a list of regions' names", remedy: "Give names as in [\"yard\"].")
      }
      return names
    }

    /// True if the change is based on the current desired regions.
    var needsDesiredDocument: Bool { if case .set = self { false } else { true } }

    /// The description of the change for the audit log.
    var detail: String {
      switch self {
      case .set(let document): "\(document.features.count) regions"
      case .add(let document): "\(document.features.count) regions, added to the desired ones"
      case .remove(let names):
        "without \(names.prefix(10).map { String($0.prefix(64)) }.joined(separator: ", "))"
          + (names.count > 10 ? " and \(names.count - 10) more" : "")
      }
    }

    /// Returns the new desired regions of each vehicle whose regions change.
    /// - Parameter known: the current desired documents; not used if the change replaces all regions.
    /// - Throws: 409 for a vehicle whose desired document the broker has lost.
    func wanted(
      of keys: [VehicleKey], _ known: [(VehicleKey, DocumentStore.Documents)]
    ) throws(WebError) -> [VehicleKey: RegionDocument] {
      for (key, documents) in known {
        if case .remove(let names) = self, documents.parsed.regionNames.isDisjoint(with: names) { continue }
        do throws(FleetError) {
          try documents.parsed.checkWantedRegions(of: key)
        } catch {
          throw WebError(
            .conflict, "regions-lost", "Nothing was sent: \(error.cause).",
            remedy: "Set all regions of the vehicle.")
        }
      }
      var wanted: [VehicleKey: RegionDocument] = [:]
      switch self {
      case .set(let document): for key in keys { wanted[key] = document }
      case .add(let document):
        for (key, documents) in known { wanted[key] = documents.parsed.wantedRegions.adding(document) }
      case .remove(let names):
        for (key, documents) in known {
          let before = documents.parsed.wantedRegions
          let rest = before.removing(names)
          if rest.features.count < before.features.count { wanted[key] = rest }
        }
      }
      return wanted
    }
  }
}
