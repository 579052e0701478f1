// Types of the page's modules, for the check by tsc; nothing of it is in the program.

/** A child of an element: arrays are flattened, and false, null and undefined are omitted. */
type Child = Node | string | number | boolean | null | undefined | Child[];

/** Attributes and listeners of an element, see `h` in dom.js. */
interface Options {
  on?: { [Name in keyof HTMLElementEventMap]?: (event: HTMLElementEventMap[Name]) => void };
  [name: string]: any;
}

type Context = CanvasRenderingContext2D;
type VehicleName = { fleet: string; vehicle: string };
type Place = { latitude: number; longitude: number };

// Long types of the modules under short names.
type API = import("../page/api.js").API;
type Draft = import("../page/region-geometry.js").Draft;
type FleetMap = import("../page/map.js").FleetMap;
type Outcome = ReturnType<typeof import("../page/dialog.js").outcome>;
type Position = import("../page/vehicle.js").Position;
type Route = import("../page/router.js").Route;
type Router = import("../page/router.js").Router;
type VehicleSelection = import("../page/selection.js").Selection;
type Session = import("../page/session.js").Session;
type Store = import("../page/store.js").Store;
type Summary = import("../page/vehicle.js").Summary;
type Track = import("../page/track.js").Track;
type CanvasView = import("../page/canvas-layer.js").View;

/** A change of a vehicle; `vehicle` is undefined if it was removed. */
type Change = { key: string; vehicle: Summary | undefined };

/** An event of the stream about a vehicle. The server forwards the parts unchanged, so that their values can have any type. */
interface Details extends VehicleName {
  now?: string;
  status?: any;
  attitude?: Attitude;
  regions?: any;
  trail?: [number, number][];
  [part: string]: any;
}

interface Attitude { roll?: number; pitch?: number; yaw?: number; quaternion?: number[]; frame?: string; axes?: string; }

/** What the sections of a vehicle's panel are made from; `isLink`: omit values that a shared link does not contain. */
interface Facts { summary: Summary; details: Details | undefined; now: number; isLink?: boolean; }

// The server's answers; those that openapi.yaml describes in full are in server.d.ts.
type Alert = Server.Alert;
interface AlertGroup { rule: string; severity: string; count: number; }
interface AlertTotals { alerts?: Alert[]; count?: number; more?: number; next?: string; groups?: AlertGroup[]; }
type Rule = Server.Rule;
type CommandAnswer = Server.Answers["answers"][number];
type Command = Server.Command;
type Parameter = Command["arguments"][number];
type Setting = Server.SettingKey;
type Share = Server.Share;
type AssignedVehicle = Server.SharedRegion["vehicles"][number];
interface Region { identifier: string; variants: any[]; vehicles: AssignedVehicle[]; }
interface DayRow extends VehicleName { day: string; kind: string; distance?: number; trips: number; moving?: number; }
interface Trip {
  number: number; phase?: string; start?: { time?: string }; end?: { time?: string }; time?: string; distance?: number; moving?: number;
  greatestSpeed?: number; driver?: string; series?: string; isFollowed?: boolean;
}
interface RecordedStop extends Place { from: string; to: string; open?: boolean; }
type Listing = "Trips" | "Stops" | "Events" | "Regions" | "Traces";
/** The entries of a journal by list; an error if the request failed. */
type JournalEntries = { [Name in Listing]?: { items: any[]; hasMore: boolean } | Error };
interface BrokerLink { connected: boolean; trouble?: string; since?: string; }

// Newer than the libraries of TypeScript 4.8.
interface Array<T> { findLast(found: (item: T, index: number) => unknown): T | undefined; }
interface ReadonlyArray<T> { findLast(found: (item: T, index: number) => unknown): T | undefined; }
interface Element { checkVisibility(): boolean; }

type SessionState = Omit<Server.Session, "scope"> & { scope?: Server.Session["scope"] };
/** Stops a timer or a subscription; further calls have no effect. */
type Stop = () => void;
/** Optional features of the server; undefined until the server has reported them. */
type Abilities = { recording?: boolean; control?: boolean };
