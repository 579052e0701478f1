import Sensors
import Spatial
import Testing

@Suite struct MountMatrixTests {
  @Test func turnsASensorsVectorIntoTheDeviceFrame() throws {
    // The sensor's x axis is the device's -y axis, its y axis the device's x axis.
    let matrix = try #require(MountMatrix(parsing: "0, 1, 0; -1, 0, 0; 0, 0, 1"))
    #expect(matrix(Vector3(1, 2, 3)) == Vector3(2, -1, 3))
    #expect(!matrix.isIdentity)
  }

  @Test func formattedMatricesAreParsed() throws {
    let matrix = try #require(MountMatrix(parsing: "0.866, -0.5, 0;\t0.5,0.866 ,0; 0, 0, -1\n"))
    #expect(MountMatrix(parsing: matrix.description) == matrix)
    #expect(MountMatrix(parsing: "1, 0, 0; 0, 1, 0; 0, 0, 1") == .identity)
  }

  @Test(arguments: [
    "", "1", "1,0,0;0,1,0", "1,0,0;0,1,0;0,0", "1,0,0;0,1,0;0,0,x", "0,0,0;0,0,0;0,0,0",
    "1,0,0;0,1,0;0,0,nan",
    "1,0,0;1,0,0;0,0,1", "1,0,0;0,1,0;0,0,1;", "1 0 0 0 1 0 0 0 1", "1,0,0;0,1,0;0,0,inf", "1,,0;0,1,0;0,0,1",
  ])
  func refusesInvalidMatrices(text: String) {
    #expect(MountMatrix(parsing: text) == nil)
  }
}
