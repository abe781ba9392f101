import type { ArmErrorBody } from '../arm/arm-error.ts';
import type { JsonObject } from '../arm/json.ts';
import type { Cloud } from '../state/cloud.ts';
import { InCluster } from './in-cluster.ts';
import { LongOperations } from './long-operations.ts';

/** A deployment to the subscription, as Azure remembers it. */
export interface Deployment {
  readonly name: string;
  readonly location: string;
  readonly template: JsonObject;
  readonly parameters: Readonly<Record<string, unknown>>;
  readonly at: number;
  readonly operation: string;
  /** By name; null where it ends in `fault`. */
  readonly outputs: Readonly<Record<string, string>> | null;
  readonly fault: ArmErrorBody | null;
}

export interface RoleDefinition {
  readonly id: string;
  readonly roleName: string;
  readonly isCustom: boolean;
  /** Where it was defined. */
  readonly scope: string;
}

export interface RoleAssignment {
  readonly id: string;
  readonly scope: string;
  readonly principalId: string;
  readonly roleDefinitionId: string;
}

/** The app that a deployment makes. */
export interface Site {
  readonly id: string;
  readonly name: string;
  readonly group: string;
  readonly location: string;
  /** Bytes of the code that was sent last; 0: none. */
  readonly codeBytes: number;
  /** SHA-256 of the same, in hexadecimal digits; empty: none. */
  readonly codeDigest: string;
}

/** A registry, and the images that were built in it by `NAME:TAG`, each with its digest. */
export interface Registry {
  readonly id: string;
  readonly name: string;
  readonly group: string;
  readonly location: string;
  readonly images: ReadonlyMap<string, string>;
}

/** What Azure's management plane remembers beside machines: what clients of people, az and azd, ask for and make. */
export class Management {
  readonly cloud: Cloud;
  readonly operations: LongOperations;
  readonly inCluster: InCluster;
  readonly registered = new Set([
    'microsoft.compute',
    'microsoft.network',
    'microsoft.containerservice',
    'microsoft.web',
  ]);
  /** By name in lower case; the ones there are shown. */
  readonly deployments = new Map<string, Deployment>();
  /** By id in lower case. */
  readonly roleDefinitions = new Map<string, RoleDefinition>();
  readonly roleAssignments = new Map<string, RoleAssignment>();
  readonly topics = new Map<string, JsonObject>();
  readonly identities = new Map<string, JsonObject>();
  /** By name in lower case. */
  readonly sites = new Map<string, Site>();
  readonly registries = new Map<string, Registry>();
  /** What was put into blobs, by path. */
  readonly blobs = new Map<string, Buffer>();
  /** Builds by id: how each ended. */
  readonly builds = new Map<string, 'Succeeded' | 'Failed'>();

  constructor(cloud: Cloud) {
    this.cloud = cloud;
    this.operations = new LongOperations(cloud);
    this.inCluster = new InCluster();
  }

  /** Takes a resource group away with all that is in it; what is outside, and roles on it, stay. */
  removeGroup(name: string): void {
    const within = (id: string): boolean => id.toLowerCase().includes(`/resourcegroups/${name.toLowerCase()}/`);
    for (const kept of [this.topics, this.identities]) {
      for (const id of kept.keys()) if (within(id)) kept.delete(id);
    }
    for (const [key, { id }] of this.sites) if (within(id)) this.sites.delete(key);
    for (const [key, { id }] of this.registries) if (within(id)) this.registries.delete(key);
    this.cloud.groups.delete(name.toLowerCase());
  }
}
