package import Fleet
package import FleetProgram
internal import Glibc
internal import Spatial

/// A map drawn in characters: regions and tracks as dots, vehicles as state signs, and a scale.
///
/// A pure value type. North is up. Longitudes are scaled as at the map's centre.
package struct MapPane: Sendable {
  package struct Vehicle: Sendable {
    var name: String
    var state: VehicleState
    var coordinate: Coordinate
    /// The radius in m that contains the vehicle; nil if unknown.
    var radius: Double?
    var isStale: Bool
    var isSelected: Bool
    /// The track, oldest first.
    var trail: [Coordinate] = []
  }

  /// The minimum width of the map in m, and its approximate maximum.
  private static let smallest = 100.0
  private static let largest = 2e7

  package var vehicles: [Vehicle] = []
  package var regions: [RegionShape] = []
  /// The magnification as a power of two relative to showing everything; negative to zoom out.
  package var zoom = 0

  package func lines(columns: Int, rows: Int) -> [StyledText] {
    var canvas = BrailleCanvas(columns: columns, rows: rows)
    guard let view = Projection(self, canvas) else {
      canvas.put(StyledText("no position yet", style: .dim), column: 0, row: 0)
      return (0..<rows).map { canvas[row: $0] }
    }
    for region in regions {
      for line in region.lines { draw(line, on: &canvas, view, TextStyle(.yellow)) }
    }
    for vehicle in vehicles where !vehicle.trail.isEmpty {
      draw(
        vehicle.trail + [vehicle.coordinate], on: &canvas, view,
        vehicle.isSelected ? TextStyle(.cyan) : TextStyle(.gray))
    }
    let clusters = MapClusters(vehicles, view, on: canvas)
    for cluster in clusters.clusters {
      if cluster.count == 1 {
        mark(vehicles[cluster.vehicle], on: &canvas, view)
      } else {
        let style = cluster.state.flatMap { VehicleRow.state($0).cells.first?.style.color } ?? .standard
        let count = StyledText(MapClusters.text(cluster.count), style: TextStyle(style, bold: true))
        canvas.put(count, column: cluster.column, row: cluster.row)
      }
    }
    // The selected vehicle is drawn last, on top of the others.
    for vehicle in vehicles where vehicle.isSelected { mark(vehicle, on: &canvas, view) }
    name(clusters, on: &canvas)
    nameRegions(on: &canvas, view)
    putScale(on: &canvas, view)
    return (0..<rows).map { canvas[row: $0] }
  }

  private func draw(
    _ line: [Coordinate], on canvas: inout BrailleCanvas, _ view: Projection, _ style: TextStyle
  ) {
    for (a, b) in zip(line, line.dropFirst()) {
      canvas.line(from: view.point(a), to: view.point(b), style: style)
    }
  }

  private func mark(_ vehicle: Vehicle, on canvas: inout BrailleCanvas, _ view: Projection) {
    guard let place = view.place(vehicle.coordinate, on: canvas) else { return }
    if let metres = vehicle.radius {
      let radius = metres * view.dotsPerMetre
      if radius > 2 {
        canvas.ellipse(
          center: view.point(vehicle.coordinate), radius: SIMD2(radius, radius), style: TextStyle(.green))
      }
    }
    let sign = VehicleRow.state(vehicle.state)
    var cell = StyledText(cells: Array(sign.cells.prefix(1)))
    if vehicle.isStale { cell = cell.styled(.dim) }
    if vehicle.isSelected { cell = StyledText("◆", style: TextStyle(.cyan, bold: true)) }
    canvas.put(cell, column: place.column, row: place.row)
  }

  /// Writes names where there is space.
  private func name(_ clusters: MapClusters, on canvas: inout BrailleCanvas) {
    let shown = clusters.shown
    let named = clusters.isCrowded ? shown.filter { vehicles[$0.vehicle].isSelected } : shown
    for (place, column, row) in named.sorted(by: {
      vehicles[$0.vehicle].isSelected && !vehicles[$1.vehicle].isSelected
    }) {
      let text = StyledText(vehicles[place].name, style: vehicles[place].isSelected ? .bold : .plain)
      let short = text.width > 16 ? text.fitted(to: 16) : text
      if !canvas.put(short, column: column + 2, row: row, onlyIfFree: true) {
        canvas.put(short, column: column - 1 - short.width, row: row, onlyIfFree: true)
      }
    }
  }

  private func nameRegions(on canvas: inout BrailleCanvas, _ view: Projection) {
    for region in regions {
      let corners = region.lines.first ?? []
      guard let top = corners.max(by: { $0.latitude < $1.latitude }),
        let place = view.place(top, on: canvas)
      else { continue }
      let text = StyledText(String(region.identifier.prefix(16)), style: TextStyle(.yellow))
      canvas.put(text, column: place.column - text.width / 2, row: place.row, onlyIfFree: true)
    }
  }

  private func putScale(on canvas: inout BrailleCanvas, _ view: Projection) {
    let columnsPerMetre = view.dotsPerMetre / 2
    var length = 1.0
    // The length is the longest of 1, 2, 5, 10, … m that uses at most a quarter of the width.
    for step in 0..<24 {
      let next = pow(10, Double(step / 3)) * [1, 2, 5][step % 3]
      if next * columnsPerMetre <= max(6, Double(canvas.columns) / 4) { length = next }
    }
    let width = max(2, Int((length * columnsPerMetre).rounded()))
    let label = length >= 1000 ? "\(Int(length / 1000)) km" : "\(Int(length)) m"
    let bar = "├" + String(repeating: "─", count: max(0, width - 2)) + "┤ \(label)"
    canvas.put(StyledText(bar, style: .dim), column: 0, row: canvas.rows - 1)
    canvas.put(StyledText("N↑", style: .dim), column: canvas.columns - 2, row: 0)
  }
}

extension MapPane {
  /// The projection from the earth to the canvas.
  package struct Projection {
    let center: Coordinate
    let dotsPerMetre: Double
    private let width: Double
    private let height: Double
    private let eastPerDegree: Double
    private static let northPerDegree = 111_195.0

    /// Creates a projection that shows the selected vehicle and its track, or otherwise all vehicles; nil
    /// without positions.
    package init?(_ map: MapPane, _ canvas: BrailleCanvas) {
      let selected = map.vehicles.filter(\.isSelected)
      let shown = (selected.isEmpty ? map.vehicles : selected).filter(\.coordinate.isValid)
      var places = shown.map(\.coordinate)
      for vehicle in shown { places += vehicle.trail }
      guard let first = places.first else { return nil }
      // Longitudes are relative to the first one, so that an area across the antimeridian is continuous.
      let turns = places.map { signedDegrees(from: first.longitude, to: $0.longitude) }
      let (west, east) = (turns.min() ?? 0, turns.max() ?? 0)
      let (south, north) = (
        places.map(\.latitude).min() ?? first.latitude, places.map(\.latitude).max() ?? first.latitude
      )
      // The selected vehicle is at the centre, so that the map does not jump.
      center =
        selected.first?.coordinate
        ?? Coordinate(
          latitude: (south + north) / 2,
          longitude: signedDegrees(from: 0, to: first.longitude + (west + east) / 2))
      width = Double(canvas.width)
      height = Double(canvas.height)
      eastPerDegree = Self.northPerDegree * max(0.01, cos(center.latitude.radians))
      let across = (east - west) * eastPerDegree
      let along = (north - south) * Self.northPerDegree
      // One scale applies to both axes, because dots are square if characters are twice as high as wide.
      // `span` adds a margin.
      let span = selected.isEmpty ? 1.15 : 2.2
      let metresPerDot = max(
        span * across / width, span * along / height, MapPane.smallest / width)
      dotsPerMetre = 1 / min(metresPerDot / pow(2, Double(map.zoom)), MapPane.largest / width)
    }

    /// Returns the position in dots.
    func point(_ coordinate: Coordinate) -> SIMD2<Double> {
      let east = signedDegrees(from: center.longitude, to: coordinate.longitude) * eastPerDegree
      let north = (coordinate.latitude - center.latitude) * Self.northPerDegree
      return SIMD2(width / 2 + east * dotsPerMetre, height / 2 - north * dotsPerMetre)
    }

    /// Returns the cell of a position; nil outside the map.
    func place(_ coordinate: Coordinate, on canvas: BrailleCanvas) -> (column: Int, row: Int)? {
      let point = point(coordinate)
      guard point.x >= 0, point.y >= 0, point.x < width, point.y < height else { return nil }
      return (Int(point.x) / 2, Int(point.y) / 4)
    }
  }
}
