import { annotation, label, taint } from '../../../shared/contract/names.ts';
import { STARTED_MS } from '../../../shared/core/disruption/brakes/worse-than-before.ts';
import { allocatableOf } from '../../../shared/core/model/allocatable.ts';
import { parseGoDuration } from '../../../shared/kubernetes/text/go-duration.ts';
import { parseAmounts } from '../../../shared/kubernetes/text/quantity.ts';
import type { PlannedOffering } from '../../../shared/core/model/plan.ts';
import type { Decision } from '../../../shared/ports/store.ts';
import { isProtected } from '../trouble/wishes.ts';
import {
  conditionStatus,
  isReady,
  keyOf,
  type ApiServer,
  type Change,
  type Fields,
  type Stored,
} from '../world/api-server.ts';
import type { Azure, Vm } from '../world/azure.ts';
import { vCpusOf } from '../world/catalog.ts';
import { requestsOf } from '../world/cluster.ts';
import type { Host } from '../world/host.ts';
import type { Timeline } from '../world/timeline.ts';

interface LawParts {
  readonly timeline: Timeline;
  readonly server: ApiServer;
  readonly azure: () => Azure;
  readonly host: () => Host;
  readonly decisionOf: (name: string) => Decision | null;
  /** Up to when the newest view that anybody can have lacks nothing, milliseconds since the epoch. */
  readonly viewMs: () => number;
  readonly releaseMistake: (claim: Stored) => string | null;
  readonly isInStormAt: (offering: PlannedOffering, atMs: number) => boolean;
  readonly wasRefused: (
    offering: Pick<PlannedOffering, 'instanceType' | 'zone' | 'capacityType'>,
    atMs: number,
  ) => boolean;
}

const ORPHAN_AGE_MS = 5 * 60_000;

/** With more notice than this pods wait for what replaces their node. Written as a whole second. */
const REPLACED_FIRST_MS = 151_000;

/** As in the product: how long pods wait to hear which machine is made for them. */
const NAMED_WITHIN_MS = 30_000;

/** Reasons that ask nobody and no budget, as in Karpenter. */
const FORCED: ReadonlySet<string> = new Set(['Expired', 'Unhealthy']);

/** As in the product: from the mark on, replacements are waited for no longer. */
const REPLACED_MS = 10 * 60_000;

/**
 * As in the product, less the second that times are written to: so long after the mark its second look sees what has
 * come.
 */
const QUIET_MS = 4_000;

/** As long as in the product, less what clocks may be apart. */
const LAUNCHED_MS = 5 * 60_000 - 6_000;
const REGISTERED_MS = 15 * 60_000 - 6_000;

/** What is so old is in whatever a plan is made from: calls stall for half a minute, several in a row. */
const SEEN_MS = 2 * 60_000;

/** So long after a policy kept a node from being opened, its pods are planned again. */
const SHUT_MS = 3 * 60_000;

/** What is written where an audit has refused something. */
const REFUSALS: ReadonlySet<string> = new Set(['plan-refused', 'disruption-plan-refused', 'removal-refused']);

/** What must hold at every moment, whatever goes wrong outside. Broken laws are kept, the first is what counts. */
export class Laws {
  readonly broken: Array<string> = [];
  readonly #parts: LawParts;
  readonly #launched = new Map<string, 'living' | 'taken' | 'ended'>();
  readonly #orphans = new Map<string, number>();
  /** Machines that Azure or a person has announced to take away, or taken. */
  readonly #doomed = new Set<string>();
  /** When Azure takes a machine back that it has announced to, milliseconds since the epoch. */
  readonly #preempted = new Map<string, number>();
  readonly #announced = new Map<string, number>();
  readonly #lostDecisions = new Set<string>();
  readonly #stripped = new Set<string>();
  readonly #createdMs = new Map<string, number>();
  /** When pods came to their nodes, by uid. */
  readonly #boundMs = new Map<string, number>();
  readonly #wellMs = new Map<string, number>();
  readonly #deletedMs = new Map<string, number>();
  /**
   * By when it was to be said what replaces a machine: the word itself is taken off once it is said, or a drain has not
   * waited for it.
   */
  readonly #namedByMs = new Map<string, number>();
  /** When a claim first said that its machine is noticed. */
  readonly #noticedMs = new Map<string, number>();
  #isStrict = false;
  readonly #givenUpBy = new Map<
    string,
    { readonly byMs: number; readonly pods: ReadonlyArray<readonly [key: string, uid: string]> }
  >();

  constructor(parts: LawParts) {
    this.#parts = parts;
    parts.server.watch((change) => this.#changed(change));
  }

  /**
   * Azure has said that it takes this claim's machine within half a minute, at `atMs`, whatever else it has said of it.
   * The first time stands: said once more, the machine goes no later.
   */
  preempt(claim: string, atMs: number): void {
    this.#preempted.set(claim, Math.min(atMs, this.#preempted.get(claim) ?? Infinity));
    this.doom(claim);
  }

  /** Azure has said that it takes this claim's machine some time. */
  announce(claim: string, atMs: number): void {
    this.#announced.set(claim, Math.min(atMs, this.#announced.get(claim) ?? Infinity));
    this.doom(claim);
  }

  /** Nobody can know any more what the decision of that name has said. */
  decisionLost(name: string): void {
    this.#lostDecisions.add(name);
  }

  /** From now on losing this claim's machine is nobody's mistake. */
  doom(claim: string): void {
    this.#doomed.add(claim);
  }

  /** From now on somebody else answers for this claim's machine being left behind. */
  strip(claim: string): void {
    this.#stripped.add(claim);
    this.doom(claim);
  }

  #break(text: string): void {
    this.broken.push(text);
  }

  /** One of us has written a line: an audit lets through all that our planners make. */
  logged(event: string, facts: object): void {
    if (REFUSALS.has(event)) this.#break(`${event}: ${JSON.stringify(facts)}`);
  }

  vmCreated(vm: Vm): void {
    const { claim } = vm.machine;
    const before = this.#launched.get(claim);
    if (before === 'living') this.#break(`a second VM was created for claim ${claim}`);
    this.#launched.set(claim, 'living');
    this.#checkLimits(vm.order.nodePool ?? '');
  }

  vmGone(vm: Vm, by: 'us' | 'azure'): void {
    this.#launched.set(vm.machine.claim, by === 'us' ? 'ended' : 'taken');
  }

  /** Before one of us does what is named: an operation of the cloud's, or a request to the API server. */
  acting(what: string): void {
    const deletion = /^(?:delete machine |DELETE .*\/(nodeclaims|pods)\/)(.*)$/.exec(what);
    const [, resource, name = ''] = deletion ?? [];
    if (deletion !== null && resource === undefined) this.#deletingVm(name);
    if (resource === 'nodeclaims') this.#deletingClaim(name);
    if (resource === 'pods') this.#deletingPod(`shop/${name}`);
    const evicted = /^POST .*\/pods\/(.*)\/eviction$/.exec(what)?.[1];
    if (evicted !== undefined) this.#evictingPod(`shop/${evicted}`);
  }

  /** Before we delete a machine. */
  #deletingVm(claim: string): void {
    const object = this.#parts.server.get('nodeclaims', claim);
    if (object !== null && object.metadata.deletionTimestamp === undefined) {
      this.#break(`the machine of live claim ${claim} is deleted`);
    }
    const node = this.#parts.server.get('nodes', `aks-${claim}`);
    const vm = this.#parts.azure().vms.get(claim);
    if (object === null || node === null || vm?.state !== 'running' || this.#isPast(object, 0)) return;
    if (conditionStatus(node.status, 'Ready') !== 'True') return;
    const staying = this.#parts.server
      .list('pods')
      .find(({ spec, metadata }) => spec?.['nodeName'] === node.metadata.name && !metadata.deletionTimestamp);
    if (staying !== undefined) this.#break(`the machine of ${claim} is deleted under pod ${keyOf(staying.metadata)}`);
  }

  /** Is the claim's deadline over, or `leadMs` away at most? */
  #isPast(claim: Stored, leadMs: number): boolean {
    const deadline = Date.parse(claim.metadata.annotations?.[annotation.terminationTimestamp] ?? '');
    return this.#parts.timeline.now() > deadline - leadMs;
  }

  /**
   * Before we evict a pod: from a node that goes, and where a notice leaves time for a machine to boot only once what
   * is made in place of the node is named and ready, or time runs out.
   */
  #evictingPod(key: string): void {
    const { server } = this.#parts;
    const pod = server.get('pods', key);
    if (pod === null) return;
    this.#checkTold(key, pod);
    const name = String(pod.spec?.['nodeName']).replace(/^aks-/, '');
    const claim = server.get('nodeclaims', name);
    if (claim === null) return;
    if (claim.metadata.deletionTimestamp === undefined && !this.#doomed.has(name)) {
      this.#break(`pod ${key} is evicted from ${name}, which stays`);
    }
    const mayGo =
      this.#preempted.has(name) ||
      !this.#isNoticedMinutesAhead(claim) ||
      this.#isSoonerThanSaid(claim) ||
      this.#isPast(claim, graceMsOf(pod) + 1000) ||
      this.#isNamedTooLate(claim);
    const why = mayGo ? null : this.#missingBefore(claim);
    if (why !== null) this.#break(`pod ${key} is evicted before ${why}`);
  }

  /**
   * Has the time passed by which a plan should have said what replaces the machine? A drain that has begun then goes
   * on, as does one of a claim that was deleted long before its machine was noticed.
   */
  #isNamedTooLate({ metadata: { name } }: Stored): boolean {
    const [deletedMs, namedByMs] = [this.#deletedMs.get(name), this.#namedByMs.get(name)];
    const endsMs = Math.min((deletedMs ?? Infinity) + NAMED_WITHIN_MS, namedByMs ?? Infinity);
    return this.#parts.timeline.now() >= endsMs;
  }

  /**
   * Has Azure announced a time that is sooner than the claim says, and too soon to wait? Two notices are acted on at
   * once, and whoever has the one that is more urgent tells the pods, also where it may not be written.
   */
  #isSoonerThanSaid({ metadata: { name, annotations = {} } }: Stored): boolean {
    const announcedMs = this.#announced.get(name) ?? Infinity;
    const saidMs = Date.parse(annotations[annotation.terminationTimestamp] ?? '');
    return announcedMs < saidMs - 1000 && announcedMs - this.#parts.timeline.now() <= REPLACED_FIRST_MS;
  }

  #isNoticedMinutesAhead({ metadata: { name, annotations = {} } }: Stored): boolean {
    if (annotations[annotation.interruption] === undefined) return false;
    const deletedMs = this.#deletedMs.get(name) ?? Number.POSITIVE_INFINITY;
    // Somebody had deleted it before, and its drain goes on as it began.
    if (deletedMs < (this.#noticedMs.get(name) ?? Number.NEGATIVE_INFINITY)) return false;
    return Date.parse(annotations[annotation.terminationTimestamp] ?? '') - deletedMs > REPLACED_FIRST_MS;
  }

  /** What pods of a machine wait for that goes in minutes; null when they may go. */
  #missingBefore({ metadata: { name, annotations = {} } }: Stored): string | null {
    const { server, timeline } = this.#parts;
    if (timeline.now() < Date.parse(annotations[annotation.replacementDue] ?? '')) {
      return `it is said what replaces ${name}`;
    }
    const awaited = (annotations[annotation.replacedBy] ?? '').split(',').find((other) => {
      const found = server.get('nodeclaims', other);
      // One that has been given up never is, and stays until its decision has been executed.
      if (found === null || found.metadata.deletionTimestamp !== undefined) return false;
      return conditionStatus(found.status, 'Initialized') !== 'True';
    });
    return awaited === undefined ? null : `${awaited}, which replaces its node, is ready`;
  }

  /** Where nothing is lost on the way nobody asks a pod to go that has been told. */
  #checkTold(key: string, { metadata }: Stored): void {
    if (this.#isStrict && metadata.deletionTimestamp !== undefined) this.#break(`pod ${key} is told twice`);
  }

  /** From now on no pod may be told twice: our own calls do not fail, so that nothing is done over. */
  beStrict(): void {
    this.#isStrict = true;
  }

  /**
   * By then the claim's node takes no more pods, and the pods that are on it now have been told, but for those that a
   * budget may hold.
   */
  expectGivenUp(claim: string, byMs: number): void {
    const { server } = this.#parts;
    const held = new Set(server.list('poddisruptionbudgets').map(({ spec }) => spec?.['selector']?.matchLabels?.app));
    const pods = server
      .list('pods')
      .filter(({ spec, metadata }) => spec?.['nodeName'] === `aks-${claim}` && !held.has(metadata.labels?.['app']));
    this.#givenUpBy.set(claim, { byMs, pods: pods.map((pod) => [keyOf(pod.metadata), pod.metadata.uid]) });
  }

  #lookAtNotices(): void {
    const { server, timeline } = this.#parts;
    for (const [claim, { byMs, pods }] of this.#givenUpBy) {
      if (timeline.now() < byMs) continue;
      this.#givenUpBy.delete(claim);
      const node = server.get('nodes', `aks-${claim}`);
      const taints: ReadonlyArray<Fields> = node?.spec?.['taints'] ?? [];
      if (node !== null && !taints.some(({ key }) => key === taint.disrupted.key)) {
        this.#break(`the node of ${claim} takes pods still, though its notice came in time`);
      }
      const untold = pods.find(([key, uid]) => {
        const pod = server.get('pods', key);
        return pod?.metadata.uid === uid && pod.metadata.deletionTimestamp === undefined;
      });
      if (untold !== undefined) this.#break(`pod ${untold[0]} on ${claim} was not told in time`);
    }
  }

  /** Has a static pool more claims than it asks for? */
  #isSurplus(pool: string): boolean {
    const { server } = this.#parts;
    const replicas = server.get('nodepools', pool)?.spec?.['replicas'];
    const own = server.list('nodeclaims').filter(({ metadata }) => metadata.labels?.[label.nodePool] === pool);
    return (
      typeof replicas === 'number' &&
      own.filter(({ metadata }) => metadata.deletionTimestamp === undefined).length > replicas
    );
  }

  /** Before we delete a claim. */
  #deletingClaim(name: string): void {
    const claim = this.#parts.server.get('nodeclaims', name);
    if (claim === null || this.#doomed.has(name) || claim.metadata.deletionTimestamp !== undefined) return;
    const vm = this.#parts.azure().vms.get(name);
    const node = this.#parts.server.get('nodes', `aks-${name}`);
    if (vm?.state !== 'running' || node === null || node.metadata.deletionTimestamp !== undefined) return;
    const surplus = this.#isSurplus(claim.metadata.labels?.[label.nodePool] ?? '');
    if (conditionStatus(node.status, 'Ready') !== 'True' || surplus || this.#isLate(claim)) return;
    const why = this.#disruptionMistake(claim, node) ?? this.#parts.releaseMistake(claim);
    if (why !== null) this.#break(`healthy claim ${name} is deleted: ${why}`);
  }

  /** Has the machine not been noted, or its node not been registered, in all the time that there is for it? */
  #isLate({ metadata, status }: Stored): boolean {
    const ageMs = this.#parts.timeline.now() - (this.#createdMs.get(metadata.name) ?? Number.POSITIVE_INFINITY);
    const mostMs = conditionStatus(status, 'Launched') === 'True' ? REGISTERED_MS : LAUNCHED_MS;
    return ageMs > mostMs && conditionStatus(status, 'Registered') !== 'True';
  }

  /** What is wrong with deleting a healthy claim of our own accord; null when it was begun, and is, by the rules. */
  #disruptionMistake(claim: Stored, node: Stored): string | null {
    const conditions: ReadonlyArray<Fields> = claim.status?.['conditions'] ?? [];
    const marked = conditions.find((one) => one['type'] === 'DisruptionReason' && one['status'] === 'True');
    if (marked === undefined) return 'it is not marked';
    return this.#unseenMistake(marked, node) ?? this.#reasonMistake(String(marked['reason']), claim, node);
  }

  #reasonMistake(reason: string, claim: Stored, node: Stored): string | null {
    // A pod that is being deleted already goes with its node or without.
    const pods = this.#parts.server
      .list('pods')
      .filter(
        ({ metadata, spec }) => metadata.deletionTimestamp === undefined && spec?.['nodeName'] === node.metadata.name,
      );
    if (reason === 'Empty' && pods.length > 0) return `pod ${pods[0]?.metadata.name ?? ''} is on it`;
    // By the second look it may have grown old, whatever it was marked for.
    const isForced = FORCED.has(reason) || this.#isExpired(claim);
    const late = this.#lateReplacement(claim, isForced || reason === 'Drifted');
    if (late !== undefined) return `its replacement ${late} is not initialized`;
    if (isForced) return null;
    const hasDeadline = reason === 'Drifted' && claim.spec?.['terminationGracePeriod'] !== undefined;
    return this.#protectionMistake(node, hasDeadline ? [] : pods) ?? this.#budgetMistake(claim);
  }

  /** Has nobody seen the cluster as it is with the node closed? */
  #unseenMistake(marked: Fields, node: Stored): string | null {
    const taints: ReadonlyArray<Fields> = node.spec?.['taints'] ?? [];
    if (!taints.some((one) => one['key'] === taint.disrupted.key)) return 'its node takes pods';
    const quietMs = Date.parse(String(marked['lastTransitionTime'])) + QUIET_MS;
    return this.#parts.viewMs() < quietMs ? 'nobody has seen the cluster since its node was closed' : null;
  }

  /**
   * One that has not come. Of nodes that must go together those go that need none which has failed, or is not waited
   * for any more, once the others have come. One that was made and has been lost since is waited for by nobody: what
   * its pods lack is bought anew.
   */
  #lateReplacement({ metadata, status }: Stored, mustGo: boolean): string | undefined {
    const replacements = (metadata.annotations?.[annotation.replacedBy] ?? '').split(',').filter(Boolean);
    const claims = replacements.map((name) => [name, this.#parts.server.get('nodeclaims', name)] as const);
    const hasCome = (claim: Stored | null): boolean => conditionStatus(claim?.status, 'Initialized') === 'True';
    const some = mustGo && claims.some(([, claim]) => hasCome(claim));
    const conditions: ReadonlyArray<Fields> = status?.['conditions'] ?? [];
    const marked = conditions.find((one) => one['type'] === 'DisruptionReason');
    const isOver = this.#parts.timeline.now() >= Date.parse(String(marked?.['lastTransitionTime'])) + REPLACED_MS;
    const isFailed = (claim: Stored | null): boolean => isOver || claim === null || this.#isGivenUp(claim);
    const isLost = (name: string, claim: Stored | null): boolean =>
      claim === null ? this.#createdMs.has(name) : claim.metadata.deletionTimestamp !== undefined;
    const late = claims.find(([name, claim]) => !hasCome(claim) && !isLost(name, claim) && !(some && isFailed(claim)));
    return late?.[0];
  }

  /** What people say of the node, or of one of these pods on it. */
  #protectionMistake(node: Stored, pods: ReadonlyArray<Stored>): string | null {
    if (node.metadata.annotations?.[annotation.doNotDisrupt] === 'true') return 'it may not be disrupted';
    const kept = pods.find((pod) => this.#isKept(pod));
    return kept === undefined ? null : `pod ${kept.metadata.name} may not be disrupted`;
  }

  #isExpired({ metadata, spec }: Stored): boolean {
    const lifeMs = parseGoDuration(String(spec?.['expireAfter'])) ?? Number.POSITIVE_INFINITY;
    return Date.parse(metadata.creationTimestamp) + lifeMs <= this.#parts.timeline.now();
  }

  /** Is the pod protected, and has it run for so long that whoever decided has seen it? */
  #isKept(pod: Stored): boolean {
    const { server, timeline } = this.#parts;
    if (pod.metadata.annotations?.[annotation.doNotDisrupt] === 'true') return true;
    const startedMs = Date.parse(String(pod.status?.['startTime']));
    return isReady(pod) && timeline.now() - startedMs > SEEN_MS && isProtected(server, pod);
  }

  /** What a pool's budget says: a share of its nodes, and 10 % where nothing else is said. */
  #budgetMistake(claim: Stored): string | null {
    const { server } = this.#parts;
    const pool = claim.metadata.labels?.[label.nodePool] ?? '';
    // As in Karpenter, a node whose machine is being taken down is past what a budget is about, and one that never
    // joined is no node.
    const own = server
      .list('nodeclaims')
      .filter(({ metadata }) => metadata.labels?.[label.nodePool] === pool)
      .filter(({ status }) => conditionStatus(status, 'InstanceTerminating') !== 'True')
      .filter(({ status }) => conditionStatus(status, 'Initialized') === 'True');
    const going = own.filter(
      ({ metadata }) => metadata.deletionTimestamp !== undefined && !this.#doomed.has(metadata.name),
    );
    const share = parseInt(server.get('nodepools', pool)?.spec?.['disruption']?.budgets?.[0]?.nodes ?? '10%', 10);
    const allowed = Math.ceil((own.length * share) / 100);
    return going.length + 1 > allowed ? `${going.length + 1} of ${own.length} go, and ${allowed} may` : null;
  }

  /** Before we delete a pod outright, past its budget. */
  #deletingPod(key: string): void {
    const pod = this.#parts.server.get('pods', key);
    if (pod === null) return;
    const claim = this.#parts.server.get('nodeclaims', String(pod.spec?.['nodeName']).replace(/^aks-/, ''));
    // Gone under a drain that was slow: nobody can say any more what its deadline was.
    if (claim === null) return;
    // Where a notice cannot be written on the claim, its pods are told all the same (decision 51): Azure's own deadline
    // counts, that of an eviction also where a later one was written before.
    const written = Date.parse(claim.metadata.annotations?.[annotation.terminationTimestamp] ?? '');
    const { name } = claim.metadata;
    const said = this.#preempted.get(name) ?? this.#announced.get(name) ?? Number.NaN;
    const deadline = Number.isNaN(written) ? said : Math.min(written, this.#preempted.get(name) ?? Infinity);
    // One that goes already is told a shorter time where it would end too late, by the API server's own clock.
    const endsMs = Date.parse(pod.metadata.deletionTimestamp ?? '');
    if (Number.isNaN(deadline)) this.#break(`pod ${key} is deleted without a deadline`);
    else if (this.#parts.timeline.now() < deadline - graceMsOf(pod) - 1000 && !(endsMs > deadline))
      this.#break(`pod ${key} is deleted before its time`);
  }

  #changed({ resource, before, after }: Change): void {
    if (resource === 'aksnodeclasses') this.#checkVersion(before, after);
    if (resource === 'nodes') this.#noteHealth(before, after);
    if (resource === 'nodeclaims') this.#claimChanged(before, after);
    if (resource === 'pods') this.#noteBound(before, after);
  }

  #noteLeaving(before: Stored | null, { metadata: { name, annotations, deletionTimestamp } }: Stored): void {
    if (deletionTimestamp !== undefined && before?.metadata.deletionTimestamp === undefined) {
      this.#deletedMs.set(name, this.#parts.timeline.now());
    }
    if (annotations?.[annotation.interruption] !== undefined && !this.#noticedMs.has(name)) {
      this.#noticedMs.set(name, this.#parts.timeline.now());
    }
    const namedByMs = Date.parse(annotations?.[annotation.replacementDue] ?? '');
    // A later notice does not bring back what has begun to drain by the time of the first.
    if (!Number.isNaN(namedByMs) && !this.#namedByMs.has(name)) this.#namedByMs.set(name, namedByMs);
  }

  #noteBound(before: Stored | null, after: Stored | null): void {
    const isBound = before?.spec?.['nodeName'] === undefined && after?.spec?.['nodeName'] !== undefined;
    if (isBound && after !== null) this.#boundMs.set(after.metadata.uid, this.#parts.timeline.now());
  }

  #claimChanged(before: Stored | null, after: Stored | null): void {
    const name = (after ?? before)?.metadata.name ?? '';
    if (after !== null) this.#noteLeaving(before, after);
    if (after !== null && isInUse(after) && !isInUse(before)) this.#checkStarted(after);
    if (before === null && after !== null) {
      this.#createdMs.set(name, this.#parts.timeline.now());
      this.#claimCreated(after);
    }
    if (after === null) this.#claimGone(name);
  }

  /** A claim is in use when what its node starts with has gone: that does not come back. */
  #checkStarted({ metadata, spec }: Stored): void {
    const taints: ReadonlyArray<Fields> =
      this.#parts.server.get('nodes', `aks-${metadata.name}`)?.spec?.['taints'] ?? [];
    const startup: ReadonlyArray<Fields> = spec?.['startupTaints'] ?? [];
    const kept = startup.find(({ key }) => taints.some((one) => one['key'] === key));
    if (kept !== undefined) this.#break(`${metadata.name} is in use with startup taint ${String(kept['key'])}`);
  }

  /** No API server that is a version back takes a class there. */
  #checkVersion(before: Stored | null, after: Stored | null): void {
    const versionOf = (one: Stored | null): string => String(one?.status?.['kubernetesVersion'] ?? '');
    const [from, to] = [versionOf(before), versionOf(after)];
    if (to !== '' && from.localeCompare(to, 'en', { numeric: true }) > 0) this.#break(`version ${from} becomes ${to}`);
  }

  /** Nobody buys a node for a pod that stays where it is for as long as its node does. */
  #checkStaying(claim: Stored, pods: ReadonlySet<string>): void {
    const staying = this.#parts.server
      .list('pods')
      .filter(({ metadata }) => pods.has(metadata.uid) && metadata.deletionTimestamp === undefined)
      .find((pod) => this.#isDrainedWithoutEnd(claimOf(pod)) && this.#isKept(pod));
    if (staying !== undefined)
      this.#break(`${claim.metadata.name} is made for pod ${keyOf(staying.metadata)}, which stays`);
  }

  /**
   * Is the claim's node well, and going for so long that everybody knows, with no time by which its pods must have
   * left?
   */
  #isDrainedWithoutEnd(name: string): boolean {
    const { server, azure, timeline } = this.#parts;
    const own = server.get('nodeclaims', name);
    if (own === null || this.#preempted.has(name) || this.#announced.has(name)) return false;
    const isWell = conditionStatus(server.get('nodes', `aks-${name}`)?.status, 'Ready') === 'True';
    if (!isWell || azure().vms.get(name)?.state !== 'running') return false;
    const deletedMs = this.#deletedMs.get(name) ?? Number.POSITIVE_INFINITY;
    const ends = [own.spec?.['terminationGracePeriod'], own.metadata.annotations?.[annotation.terminationTimestamp]];
    return ends.every((end) => end === undefined) && timeline.now() - deletedMs > SEEN_MS;
  }

  #claimGone(name: string): void {
    if (!this.#stripped.has(name) && this.#parts.azure().vms.has(name))
      this.#break(`claim ${name} is gone before its VM`);
  }

  /** No pod is promised to two nodes on their way, and no pool to more than it may have. */
  #claimCreated(claim: Stored): void {
    this.#checkLimits(claim.metadata.labels?.[label.nodePool] ?? '');
    this.#checkStorm(claim);
    const pods = new Set(this.#plannedPods(claim));
    this.#checkStaying(claim, pods);
    this.#checkShared(claim, pods);
    this.#checkTwice(claim, pods);
  }

  /**
   * None of the pods is another claim's, which is on its way for it; but as many as have lost their place to others, or
   * as large ones: a large one takes that of several.
   */
  #checkTwice(claim: Stored, pods: ReadonlySet<string>): void {
    const removed = new Set(this.#placeIn(claim).decision?.removal?.claims.map(({ name }) => name));
    for (const other of this.#parts.server.list('nodeclaims')) {
      const { name } = other.metadata;
      if (name === claim.metadata.name || this.#isGivenUp(other) || removed.has(name)) continue;
      if (this.#letsPodsIn(name) || this.#isSmaller(name) || this.#isUseless(other)) continue;
      if (this.#dedicationOf(other) !== other.metadata.name) continue;
      const twice = this.#plannedPods(other).filter((uid) => pods.has(uid));
      const instead = [...this.#stepInto(claim, other), ...this.#inPlaceOf(other)];
      if (twice.length > instead.length && this.#cpuOf(twice) > this.#cpuOf(instead)) {
        this.#break(`claims ${other.metadata.name} and ${claim.metadata.name} are both made for pod ${twice[0] ?? ''}`);
      }
    }
  }

  /** What the pods that are there request of CPU. */
  #cpuOf(uids: ReadonlyArray<string>): number {
    const wanted = new Set(uids);
    const pods = this.#parts.server.list('pods').filter(({ metadata }) => wanted.has(metadata.uid));
    return pods.reduce((sum, pod) => sum + (requestsOf(pod).get('cpu') ?? 0), 0);
  }

  /**
   * Uids of those that have come to the node of `other`, which was not made for them: those that are alike have one
   * another's places.
   */
  #inPlaceOf(other: Stored): ReadonlyArray<string> {
    const known = new Set(this.#plannedPods(other));
    const there = this.#parts.server
      .list('pods')
      .filter(({ spec }) => spec?.['nodeName'] === `aks-${other.metadata.name}`);
    return there.flatMap(({ metadata: { uid } }) => (known.has(uid) ? [] : uid));
  }

  /**
   * Uids of others that the plan of `claim` puts on the node of `other`, which was not made for them: of pods that move
   * and are alike the successor of one may have the place of another.
   */
  #stepInto(claim: Stored, other: Stored): ReadonlyArray<string> {
    const known = new Set(this.#plannedPods(other));
    const names = new Set([other.metadata.name, `aks-${other.metadata.name}`]);
    const nominated = this.#placeIn(claim).decision?.plan.nominations ?? [];
    return nominated
      .filter(({ target }) => names.has(target.name))
      .flatMap(({ pods }) => pods.flatMap(({ uid }) => (known.has(uid) ? [] : uid)));
  }

  /**
   * Where claims share a dedication no place is anybody's: no more of their pods are planned again than have no place
   * left. Those that are gone by now, or have just come to other nodes, count as if they waited, as they may have done
   * so when the plan was made.
   */
  #checkShared(claim: Stored, pods: ReadonlySet<string>): void {
    const { server, timeline } = this.#parts;
    const hasJustCome = (uid: string): boolean =>
      timeline.now() - (this.#boundMs.get(uid) ?? Number.NEGATIVE_INFINITY) < SEEN_MS;
    const dedicationOn = (node: string): string | null => {
      const other = server.get('nodeclaims', node.replace(/^aks-/, ''));
      return other === null ? null : this.#dedicationOf(other);
    };
    const nodeOf = new Map(server.list('pods').map(({ metadata, spec }) => [metadata.uid, spec?.['nodeName']]));
    const kept = server.list('nodeclaims').filter((other) => {
      const { name } = other.metadata;
      if (name === claim.metadata.name || this.#isGivenUp(other)) return false;
      return !this.#letsPodsIn(name) && !this.#isSmaller(name) && !this.#isBroken(other);
    });
    const own = this.#dedicationOf(claim);
    for (const [dedication, group] of Map.groupBy(kept, (other) => this.#dedicationOf(other))) {
      const mates = this.#mates(group[0], dedication);
      if (dedication === own || mates.length === 0 || group.some((other) => this.#isLost(other))) continue;
      const unbound = mates.filter((uid) => {
        const node: string | undefined = nodeOf.get(uid);
        return node === undefined || (hasJustCome(uid) && dedicationOn(node) !== dedication);
      });
      const left = group.map((other) => {
        const node = `aks-${other.metadata.name}`;
        return Math.max(0, this.#plannedPods(other).length - mates.filter((uid) => nodeOf.get(uid) === node).length);
      });
      // One that runs on a node that goes is planned again wherever it was planned before.
      const isWaiting = (uid: string): boolean => nodeOf.has(uid) && nodeOf.get(uid) === undefined;
      const again = unbound.filter((uid) => isWaiting(uid) && pods.has(uid)).length;
      const homeless = Math.max(0, unbound.length - left.reduce((sum, places) => sum + places, 0));
      if (again > homeless) {
        this.#break(`${again} pods of dedication ${dedication} are planned again, ${homeless} of them have no place`);
      }
    }
  }

  /** Is the record of the claim's decision gone, so that nobody knows what pods it was made for? */
  #isLost({ metadata }: Stored): boolean {
    return this.#lostDecisions.has(metadata.annotations?.[annotation.decision] ?? '');
  }

  /** By what value the claim's node is kept for its pods. */
  #dedicationOf(claim: Stored): string {
    const { decision, index } = this.#placeIn(claim);
    return decision?.reservations?.[index] ?? claim.metadata.name;
  }

  /** The pods of a dedication that several claims share. */
  #mates(claim: Stored | undefined, dedication: string): ReadonlyArray<string> {
    const decision = this.#parts.decisionOf(claim?.metadata.annotations?.[annotation.decision] ?? '');
    if (decision === null || dedication === claim?.metadata.name) return [];
    return decision.plan.claims.flatMap(({ pods }, index) =>
      decision.reservations?.[index] === dedication ? pods.map(({ uid }) => uid) : [],
    );
  }

  /** Where spot storms nothing is planned as spot that could be had on demand. */
  #checkStorm(claim: Stored): void {
    const { server, isInStormAt, wasRefused } = this.#parts;
    const { decision, index } = this.#placeIn(claim);
    const planned = decision?.plan.claims[index];
    if (decision === null || planned === undefined || !isInStormAt(planned.offering, decision.atMs)) return;
    if (wasRefused({ ...planned.offering, capacityType: 'on-demand' }, decision.atMs)) return;
    const template = server.get('nodepools', planned.nodePool)?.spec?.['template'];
    const requirements: ReadonlyArray<Fields> = template?.spec.requirements ?? [];
    const only = requirements.some(({ key, values }) => key === label.capacityType && !values.includes('on-demand'));
    if (!only)
      this.#break(`claim ${claim.metadata.name} is planned as spot in a storm: ${JSON.stringify(planned.offering)}`);
  }

  /** Is it on its way out, or will it be? Whoever gives a claim up says so before it is deleted. */
  #isGivenUp({ metadata: { name, deletionTimestamp, annotations = {} } }: Stored): boolean {
    return deletionTimestamp !== undefined || this.#doomed.has(name) || annotations[annotation.givenUp] !== undefined;
  }

  /** From then on other pods may take the room that was meant for those it was made for, which are planned again. */
  #letsPodsIn(claim: string): boolean {
    const node = this.#parts.server.get('nodes', `aks-${claim}`);
    const taints: ReadonlyArray<Fields> = node?.spec?.['taints'] ?? [];
    return node !== null && !taints.some(({ key }) => key === taint.unregistered.key || key === taint.dedicated.key);
  }

  /** Has the claim's machine turned out smaller than it was planned? What does not fit any more is planned again. */
  #isSmaller(claim: string): boolean {
    const order = this.#parts.azure().vms.get(claim)?.order;
    const node = this.#parts.server.get('nodes', `aks-${claim}`);
    const cpu = (amounts: Fields): number => parseAmounts(amounts, 'down').get('cpu') ?? 0;
    return order !== undefined && cpu(node?.status?.['allocatable'] ?? {}) < cpu(allocatableOf(order.instanceType));
  }

  /** Is it nothing that anybody may count on? */
  #isUseless(claim: Stored): boolean {
    const isMarked = conditionStatus(claim.status, 'DisruptionReason') === 'True';
    return isMarked || this.#isBroken(claim) || this.#isLost(claim) || this.#isStalled(claim) || this.#isShut(claim);
  }

  /** May its kept node not be opened, for so long that its pods are planned again? Clocks are apart. */
  #isShut({ status }: Stored): boolean {
    const conditions: ReadonlyArray<Fields> = status?.['conditions'] ?? [];
    const denied = conditions.find(({ type }) => type === 'WriteDenied');
    const sinceMs = Date.parse(String(denied?.['lastTransitionTime']));
    return denied?.['status'] === 'True' && this.#parts.timeline.now() >= sinceMs + SHUT_MS - 60_000;
  }

  /** Should it have been in use long ago? Pods of nodes that must go get another. */
  #isStalled(claim: Stored): boolean {
    const bornMs = Date.parse(claim.metadata.creationTimestamp ?? '');
    // Clocks are apart.
    return !isInUse(claim) && this.#parts.timeline.now() >= bornMs + STARTED_MS - 60_000;
  }

  /** Is the claim's node in use, and not ready any more, or not known to be again? Nobody counts on it until it is. */
  #isBroken({ metadata, status }: Stored): boolean {
    const name = `aks-${metadata.name}`;
    const node = this.#parts.server.get('nodes', name);
    if (conditionStatus(status, 'Initialized') !== 'True') return false;
    const wellMs = this.#wellMs.get(name) ?? 0;
    return conditionStatus(node?.status, 'Ready') !== 'True' || this.#parts.timeline.now() - wellMs < SEEN_MS;
  }

  /** When nodes that were ready once and then were not have become so again. */
  #noteHealth(before: Stored | null, after: Stored | null): void {
    if (before === null || after === null || isReady(before) === isReady(after)) return;
    const { name } = after.metadata;
    if (!isReady(after)) this.#wellMs.set(name, Number.POSITIVE_INFINITY);
    else if (this.#wellMs.has(name)) this.#wellMs.set(name, this.#parts.timeline.now());
  }

  #plannedPods(claim: Stored): ReadonlyArray<string> {
    const { decision, index } = this.#placeIn(claim);
    return decision?.plan.claims[index]?.pods.map(({ uid }) => uid) ?? [];
  }

  /** The decision that made the claim, null where none did, and which of its claims it is. */
  #placeIn({ metadata: { name, annotations } }: Stored): {
    readonly decision: Decision | null;
    readonly index: number;
  } {
    const decision = this.#parts.decisionOf(annotations?.[annotation.decision] ?? '');
    return { decision, index: decision?.claimNames.indexOf(name) ?? -1 };
  }

  /**
   * What we have asked for stays within the pool's limit: each claim counts as what it was launched as, before that as
   * what it was planned as. So do those that are marked to go, and their replacements beside them, as a mark may come
   * off: only what is being deleted or taken back is not counted.
   */
  #checkLimits(pool: string): void {
    const limit = Number(this.#parts.server.get('nodepools', pool)?.spec?.['limits']?.cpu ?? Number.POSITIVE_INFINITY);
    if (limit === Number.POSITIVE_INFINITY) return;
    const living = this.#parts.server
      .list('nodeclaims')
      .filter(({ metadata }) => metadata.labels?.[label.nodePool] === pool && !metadata.deletionTimestamp)
      .filter(({ metadata }) => !this.#doomed.has(metadata.name));
    const cpu = living.reduce((sum, claim) => sum + vCpusOf(this.#sizeOf(claim)), 0);
    if (cpu > limit) this.#break(`pool ${pool} has ${cpu} CPUs, its limit is ${limit}`);
  }

  #sizeOf({ metadata }: Stored): string {
    const launched = this.#parts.azure().vms.get(metadata.name)?.machine.instanceType;
    return launched ?? metadata.annotations?.[annotation.plannedOffering]?.split('/')[0] ?? '';
  }

  /** Called now and then. */
  look(): void {
    const { azure, server, timeline, host } = this.#parts;
    const now = timeline.now();
    this.#lookAtNotices();
    for (const [claim, vm] of azure().vms) {
      if (server.get('nodeclaims', claim) !== null || vm.state === 'deleting') {
        this.#orphans.delete(claim);
        continue;
      }
      const since = this.#orphans.get(claim) ?? now;
      this.#orphans.set(claim, since);
      const mayGoMs = Math.max(since, vm.createdAtMs + ORPHAN_AGE_MS);
      const [earlier = 0] = host().sweptSinceMs;
      // Both of the last two sweeps began when it was an orphan of age, and came to their end.
      if (host().sweptSinceMs.length === 2 && earlier > mayGoMs)
        this.#break(`the VM of ${claim} has no claim, for long`);
    }
  }
}

function isInUse(claim: Stored | null): boolean {
  return conditionStatus(claim?.status, 'Initialized') === 'True';
}

/** The claim whose node the pod is on. */
function claimOf({ spec }: Stored): string {
  return String(spec?.['nodeName']).replace(/^aks-/, '');
}

function graceMsOf(pod: Stored): number {
  return Number(pod.spec?.['terminationGracePeriodSeconds'] ?? 30) * 1000;
}
