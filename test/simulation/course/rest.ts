import { annotation, label } from '../../../shared/contract/names.ts';
import { isDisrupted } from '../../../shared/kubernetes/disrupted-taint.ts';
import { keptClaims } from '../trouble/wishes.ts';
import type { Policies } from '../trouble/policies.ts';
import { KUBERNETES_VERSION } from '../world/api-transport.ts';
import { conditionStatus, keyOf, type ApiServer, type Stored } from '../world/api-server.ts';
import type { Azure } from '../world/azure.ts';
import type { Queue, Queues } from '../world/queue.ts';
import type { Releases } from './release.ts';

interface RestParts {
  readonly server: ApiServer;
  readonly azure: Azure;
  readonly queues: Queues;
  readonly releases: Releases;
  readonly policies: Policies;
  /** Whether nodes are disrupted of the app's own accord. */
  readonly disrupts: boolean;
  /** Claims whose machines Azure has said that it takes. */
  readonly announced: ReadonlySet<string>;
}

const STATIC = 'static';

/**
 * Whether the world has come to rest. What somebody denies or protects for good may stay as it is, and so may all that
 * is about it alone: the claim, its node, its machine, the pods there, and messages that ask for a look at them.
 * Everything else must be as it was asked for.
 */
export class Rest {
  readonly #parts: RestParts;

  constructor(parts: RestParts) {
    this.#parts = parts;
  }

  /** What is not as it should be when all is done. */
  unsettled(): ReadonlyArray<string> {
    const { server, azure, disrupts, announced } = this.#parts;
    const held = this.held();
    const claims = server.list('nodeclaims').filter(({ metadata }) => !held.has(metadata.name));
    const nodes = server
      .list('nodes')
      .filter(({ metadata }) => metadata.name !== 'system' && !held.has(claimOf(metadata.name)));
    const vms = [...azure.vms.keys()].filter((name) => !held.has(name));
    const names = (list: ReadonlyArray<string>): string => list.toSorted().join(' ');
    const claimNames = names(claims.map(({ metadata }) => metadata.name));
    const pods = server.list('pods').filter(({ spec }) => !held.has(claimOf(spec?.['nodeName'])));
    // What Azure has announced is still to come, whoever has heard of it.
    const toCome = [...announced].filter((claim) => azure.vms.has(claim));
    return [
      ...toCome.map((claim) => `${claim} is to be redeployed`),
      ...this.#due(),
      ...this.#olderClasses(),
      ...(disrupts ? this.#outdated(held) : []),
      ...this.#missedStatic(held),
      ...this.#waiting(pods).map(({ metadata }) => `pod ${keyOf(metadata)} does not run`),
      ...[...claims, ...nodes, ...pods]
        .filter(({ metadata }) => metadata.deletionTimestamp !== undefined)
        .map(({ metadata }) => `${metadata.name} is being deleted`),
      ...claims
        .filter(({ status }) => conditionStatus(status, 'Ready') !== 'True')
        .map(({ metadata }) => `claim ${metadata.name} is not ready`),
      // Whoever was let write it at last may not have had to: the next try says so, minutes later.
      ...claims
        .filter(({ status }) => conditionStatus(status, 'WriteDenied') === 'True')
        .map(({ metadata }) => `claim ${metadata.name} says that it may not be written`),
      ...(names(vms) === claimNames ? [] : ['claims and VMs differ']),
      ...([...azure.nics].every((nic) => azure.vms.has(nic) || held.has(nic)) ? [] : ['a NIC has no VM']),
      ...(names(nodes.map(({ metadata }) => claimOf(metadata.name))) === claimNames ? [] : ['claims and nodes differ']),
      ...this.#messages(held),
    ];
  }

  /** What protects the pods of a node keeps it to its deadline only. */
  #due(): ReadonlyArray<string> {
    const { server, policies } = this.#parts;
    const denied = policies.heldClaims();
    const going = server.list('nodeclaims').filter(({ metadata: { name, deletionTimestamp, annotations } }) => {
      const hasDeadline = annotations?.[annotation.terminationTimestamp] !== undefined;
      return deletionTimestamp !== undefined && hasDeadline && !denied.has(name);
    });
    return going.map(({ metadata }) => `claim ${metadata.name} has a deadline`);
  }

  /** The claims that may stay as they are. */
  held(): ReadonlySet<string> {
    const { server, policies } = this.#parts;
    return new Set([...policies.heldClaims(), ...keptClaims(server), ...this.#stuck()]);
  }

  /** Those that go and cannot be emptied, as nobody lets us make a node for their pods and budgets keep these. */
  #stuck(): ReadonlyArray<string> {
    const { server } = this.#parts;
    if (this.#mayGrow()) return [];
    const used = new Set(server.list('pods').map(({ spec }) => claimOf(spec?.['nodeName'])));
    const going = server.list('nodeclaims').filter(({ metadata }) => metadata.deletionTimestamp !== undefined);
    return going.map(({ metadata }) => metadata.name).filter((name) => used.has(name));
  }

  /** Is there a pool that may have more nodes? */
  #mayGrow(): boolean {
    const denied = this.#closedPools();
    return this.#parts.server.list('nodepools').some(({ metadata: { name } }) => name !== STATIC && !denied.has(name));
  }

  /** Pools that may have no new claims, or of which nobody may say that they are ready, for good. */
  #closedPools(): ReadonlySet<string> {
    const { server, policies } = this.#parts;
    const unjudged = server
      .list('nodepools')
      .filter(({ metadata, status }) => {
        const isReady = conditionStatus(status, 'Ready') === 'True';
        return !isReady && policies.keepsFrom('status', 'nodepools', metadata.name);
      })
      .map(({ metadata }) => metadata.name);
    return new Set([...policies.heldPools(), ...unjudged]);
  }

  /**
   * All that the world consists of and that is not held, in its version. Pods that nobody lets us make a node for wait:
   * those of a claim that is held join them when its time is over. A static pool that may not say that it is ready may
   * get what it lacks at any time.
   */
  image(): string {
    const { server, azure } = this.#parts;
    const fixed = server.list('nodeclaims').filter((claim) => poolOf(claim) === STATIC);
    const late = this.#closedPools().has(STATIC) ? fixed.map(({ metadata }) => metadata.name) : [];
    const held = new Set([...this.held(), ...late]);
    const pods = server.list('pods').filter((pod) => pod.spec?.['nodeName'] !== undefined || !this.#hasNowhere(pod));
    const objects = [...server.list('nodeclaims'), ...server.list('nodes'), ...pods];
    const versions = objects
      .filter(({ metadata, spec }) => !held.has(claimOf(metadata.name)) && !held.has(claimOf(spec?.['nodeName'])))
      .map(({ metadata }) => `${metadata.name}@${metadata.resourceVersion}`);
    const vms = [...azure.vms.keys()].filter((name) => !held.has(name)).map((name) => `vm ${name}`);
    return [...versions, ...vms].toSorted().join(' ');
  }

  /** Pods that do not run, but where nobody lets us make a node for them. */
  #waiting(pods: ReadonlyArray<Stored>): ReadonlyArray<Stored> {
    const { server } = this.#parts;
    // The last word of a pod whose machine is gone may have been that it runs.
    const waiting = pods.filter(
      ({ spec, status }) =>
        conditionStatus(status, 'Ready') !== 'True' || server.get('nodes', String(spec?.['nodeName'])) === null,
    );
    return waiting.filter((pod) => pod.spec?.['nodeName'] !== undefined || !this.#hasNowhere(pod));
  }

  /** Does nobody let us make a node for the pod? */
  #hasNowhere({ spec }: Stored): boolean {
    const wanted: unknown = spec?.['nodeSelector']?.[label.nodePool];
    return !this.#mayGrow() || this.#closedPools().has(String(wanted));
  }

  #missedStatic(held: ReadonlySet<string>): ReadonlyArray<string> {
    const { server } = this.#parts;
    const fixed = server.get('nodepools', STATIC);
    if (fixed === null || this.#closedPools().has(STATIC)) return [];
    const own = server.list('nodeclaims').filter((claim) => poolOf(claim) === STATIC);
    const wanted = Number(fixed.spec?.['replicas']);
    if (own.length === wanted || own.some(({ metadata }) => held.has(metadata.name))) return [];
    return [`the static pool has ${own.length} claims of ${wanted}`];
  }

  /** What an API server that was a version back has said of classes. */
  #olderClasses(): ReadonlyArray<string> {
    const classes = this.#parts.server.list('aksnodeclasses');
    const older = classes.filter(
      ({ status }) => (status?.['kubernetesVersion'] ?? KUBERNETES_VERSION) !== KUBERNETES_VERSION,
    );
    return older.map(({ metadata }) => `class ${metadata.name} has an old version`);
  }

  /** Nodes that nobody needs, that are marked to go, or are not of the newest image and version. */
  #outdated(held: ReadonlySet<string>): ReadonlyArray<string> {
    const { server, releases, policies } = this.#parts;
    const pools = this.pausedPools();
    const closed = this.#closedPools();
    // Pods that nobody lets us make nodes for have the room of whatever comes in place of another.
    const isCrowded = closed.size > 0 && server.list('pods').some(({ spec }) => spec?.['nodeName'] === undefined);
    const judged = server.list('nodeclaims').filter((claim) => {
      const pool = poolOf(claim);
      return !held.has(claim.metadata.name) && !pools.has(pool) && !(isCrowded && pool === STATIC);
    });
    const old = judged.filter(({ metadata }) => {
      const info = server.get('nodes', `aks-${metadata.name}`)?.status?.['nodeInfo'];
      return info !== undefined && info.kubeletVersion !== `v${KUBERNETES_VERSION}`;
    });
    // What grows old will go, whoever has pods on it, as old age asks nobody; but where nobody lets its successor be
    // made.
    const denied = policies.heldClaims();
    const ageing = server.list('nodeclaims').filter((claim) => {
      const { metadata, spec } = claim;
      const pool = poolOf(claim);
      if (denied.has(metadata.name) || closed.has(pool) || (isCrowded && pool === STATIC)) return false;
      return metadata.deletionTimestamp === undefined && spec?.['expireAfter'] !== 'Never';
    });
    return [
      ...this.#idle(held),
      ...ageing.map(({ metadata }) => `claim ${metadata.name} grows old`),
      ...releases.behind(judged),
      ...old.map(({ metadata }) => `claim ${metadata.name} has an old kubelet`),
    ];
  }

  /**
   * Pools that keep their nodes: after three failures within an hour for that hour, where they may have no new ones,
   * where one that is held goes for ever and so uses their budget up, and where it is the first of a new image, as its
   * roll-out is halted then.
   */
  pausedPools(): ReadonlySet<string> {
    const { server, policies } = this.#parts;
    const held = this.held();
    const denying = (type: string): ReadonlyArray<string> =>
      server
        .list('nodepools')
        .filter(({ status }) => conditionStatus(status, type) === 'False')
        .map(({ metadata }) => metadata.name);
    const own = server.list('nodeclaims').filter(({ metadata }) => held.has(metadata.name));
    const halted = new Set(denying('RolloutHealthy'));
    const keeping = own.filter((claim) => this.#isGoing(claim) || halted.has(poolOf(claim)));
    return new Set([...denying('DisruptionHealthy'), ...policies.heldPools(), ...keeping.map(poolOf)]);
  }

  /**
   * Is the claim deleted, or only its Node, as nobody may delete the claim? Or is that closed, as nobody may open it
   * again?
   */
  #isGoing({ metadata }: Stored): boolean {
    const node = this.#parts.server.get('nodes', `aks-${metadata.name}`);
    return isDisrupted(node) || [metadata, node?.metadata].some((one) => one?.deletionTimestamp !== undefined);
  }

  /**
   * Nodes that nobody needs, or that are marked to go: where nodes are disrupted there are none at rest, but in pools
   * that are held, and those that wait for the pods of nodes that are being removed, and that a policy lets nobody
   * evict.
   */
  #idle(held: ReadonlySet<string>): ReadonlyArray<string> {
    const { server } = this.#parts;
    const paused = this.pausedPools();
    const pods = server.list('pods');
    const used = new Set(pods.map(({ spec }) => spec?.['nodeName']));
    const claims = server.list('nodeclaims');
    const isStuck = (claim: Stored): boolean => held.has(claim.metadata.name) && this.#isGoing(claim);
    const stuck = new Set(claims.filter(isStuck).map(({ metadata }) => `aks-${metadata.name}`));
    const judged = claims.filter(({ metadata }) => !held.has(metadata.name));
    const marked = judged.filter(({ status }) => conditionStatus(status, 'DisruptionReason') === 'True');
    const empty = judged.filter((claim) => {
      const pool = poolOf(claim);
      return pool !== STATIC && !paused.has(pool) && !used.has(`aks-${claim.metadata.name}`);
    });
    const awaiting = pods.filter(({ spec }) => stuck.has(String(spec?.['nodeName']))).length;
    return [...new Set([...marked, ...empty.slice(awaiting)])].map(
      ({ metadata }) => `the node of ${metadata.name} is not needed`,
    );
  }

  #messages(held: ReadonlySet<string>): ReadonlyArray<string> {
    const { policies, queues } = this.#parts;
    const kinds = policies.toldFor();
    const all = Object.entries<Queue>({ ...queues }).flatMap(([name, queue]) => [
      ...queue.active.map((message) => ({ message, text: `message ${message.id} circulates in ${name}` })),
      ...queue
        .scheduled()
        .filter(({ message }) => !isStanding(message.body))
        .map(({ message }) => ({ message, text: `message ${message.id} is scheduled` })),
    ]);
    const [about, others] = [true, false].map((is) =>
      all.filter((one) => isAboutHeld(one.message.body, held, kinds) === is),
    );
    return [
      ...(others ?? []).map(({ text }) => text),
      ...((about?.length ?? 0) > CHAINS_MAX ? [`${about?.length} messages ask for looks at what is held`] : []),
    ];
  }
}

/** Looks at what may not be written go on for ever, some at a time; where each begins another there are soon more. */
const CHAINS_MAX = 25;

function poolOf({ metadata }: Stored): string {
  return metadata.labels?.[label.nodePool] ?? '';
}

function claimOf(node: unknown): string {
  return String(node).replace(/^aks-/, '');
}

/** Looks at a class that is in order go on for ever. */
function isStanding(body: unknown): boolean {
  return JSON.stringify(body).includes('"AKSNodeClass"');
}

/** Is the message about nothing but what somebody denies for good? `kinds`: whole kinds of that. */
function isAboutHeld(body: unknown, held: ReadonlySet<string>, kinds: ReadonlySet<string>): boolean {
  const {
    kind,
    nodeName,
    vmId,
    objects = [],
  } = body as {
    readonly kind?: string;
    readonly nodeName?: string | null;
    readonly vmId?: string | null;
    readonly objects?: ReadonlyArray<{ readonly kind: string; readonly name: string }>;
  };
  const machine = nodeName ?? vmId?.split('/').at(-1) ?? null;
  if (kind === 'signal') return machine !== null && held.has(claimOf(machine));
  if (objects.length === 0) return kinds.has(kind ?? '');
  return objects.every((one) => kinds.has(one.kind) || (one.kind === 'NodeClaim' && held.has(one.name)));
}
