import type { DisruptionPolicy } from '../../core/model/disruption-input.ts';
import type { SchedulingPolicy } from '../../core/model/provisioning-input.ts';
import type { DisruptionPlanner } from '../../core/disruption/sound-disruption.ts';
import type { Planner } from '../../core/recovery/sound-plan.ts';
import type { Cloud, Catalogs, NodeClassFacts } from '../../ports/cloud.ts';
import type { DeviceSelectors } from '../../ports/devices.ts';
import type { Hints } from '../../ports/hints.ts';
import type { Definitions, Kubernetes } from '../../ports/kubernetes.ts';
import type { Turns } from './turns.ts';
import type { RecentPlaces } from './recent-places.ts';
import type { RecentReports } from './recent-reports.ts';
import type { UnwantedSince } from './unwanted-since.ts';
import type { Decisions, DeviceMemory, FiguresLog, Ledger, Snapshots } from '../../ports/store.ts';

/** What a person reading the portal should know about one step. One line each, structured. */
export type Log = (event: string, facts: Readonly<Record<string, string | number | boolean | null>>) => void;

/** Whether and how nodes are disrupted. */
export interface DisruptionSettings {
  /** False: nothing is begun, and what has begun and can be undone is undone. */
  readonly isOn: boolean;
  readonly policy: DisruptionPolicy;
}

/** The outside world as the use cases see it, for one cluster. */
export interface Ports {
  /** The cluster these ports lead to: names the sessions and blobs. */
  readonly cluster: string;
  /** Makes plans; each is audited before anything of it is done. */
  readonly planner: Planner;
  /** Makes plans of which nodes go; each is audited before anything of it is done. */
  readonly disruptionPlanner: DisruptionPlanner;
  /** How plans are made, as the settings say. */
  readonly policy: SchedulingPolicy;
  /** Which nodes go of our own accord, as the settings say. */
  readonly disruption: DisruptionSettings;
  /** Is a new node kept for its planned pods until they have come? Else they are only nominated to it. */
  readonly dedicatesNodes: boolean;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Resolves so many milliseconds from now. */
  readonly sleep: (ms: number) => Promise<void>;
  readonly kubernetes: Kubernetes;
  readonly definitions: Definitions;
  readonly cloud: Cloud;
  readonly nodeClassFacts: NodeClassFacts;
  readonly catalogs: Catalogs;
  readonly deviceSelectors: DeviceSelectors;
  readonly snapshots: Snapshots;
  readonly decisions: Decisions;
  readonly deviceMemory: DeviceMemory;
  readonly figuresLog: FiguresLog;
  readonly ledger: Ledger;
  readonly hints: Hints;
  readonly turns: Turns;
  readonly told: RecentReports;
  readonly places: RecentPlaces;
  readonly unwanted: UnwantedSince;
  readonly log: Log;
}
