import { gunzipSync } from 'node:zlib';
import { annotation } from '../../../shared/contract/names.ts';
import type { Refusal } from '../../../shared/adapters/azure/catalog/refusals.ts';
import { disrupt } from '../../../shared/app/disrupt/disrupt.ts';
import { provision } from '../../../shared/app/provision/provision.ts';
import type { FollowedObject } from '../../../shared/contract/messages/messages.ts';
import { toQueueMessages } from '../../../shared/contract/messages/queue-messages.ts';
import { sweep } from '../../../shared/app/sweep/sweep.ts';
import { deniedUntilMs } from '../../../shared/app/tell/denied-condition.ts';
import { bakeMsOf } from '../../../shared/kubernetes/bake-time.ts';
import { claimsQueue, launchesQueue, podsQueue, signalsQueue } from '../../../shared/contract/messages/queues.ts';
import type { Decision } from '../../../shared/ports/store.ts';
import { rngFrom, type Rng } from '../../../sandbox/base/rng.ts';
import { ApiServer, type Change, type Fields } from '../world/api-server.ts';
import { Azure, type Vm } from '../world/azure.ts';
import { addRefusals, familyOf, isRefusedSince } from '../world/catalog.ts';
import { Cluster } from '../world/cluster.ts';
import { drawFaults } from '../trouble/draw-faults.ts';
import { loseBlobs } from '../trouble/lost-blobs.ts';
import { Policies } from '../trouble/policies.ts';
import { renderDrawn } from '../trouble/render-drawn.ts';
import { forgeSignal, tellLate } from '../trouble/stray-signals.ts';
import { mendWishes, type Wished } from '../trouble/wishes.ts';
import { KUBERNETES_VERSION, answer } from '../world/api-transport.ts';
import { noFaults, type Faults } from '../world/faults.ts';
import { Host } from '../world/host.ts';
import { Laws } from './laws.ts';
import { changeLoad, createInitialObjects } from './load.ts';
import { MemoryBlobs } from '../world/memory-blobs.ts';
import type { Outside } from '../world/outside.ts';
import { Queue, type Queues } from '../world/queue.ts';
import { Releases } from './release.ts';
import { SimulatedRelay } from '../world/relay.ts';
import { Rest } from './rest.ts';
import { SpotStorms } from './spot-storms.ts';
import { Timeline } from '../world/timeline.ts';
import { nodesWithoutOrder } from './without-order.ts';

const CLUSTER = 'sim';
const START_MS = Date.UTC(2026, 0, 1);
/** A claim whose node has not joined by then is given up. */
const JOINING_MS = 15 * 60_000;
const MINUTE = 60_000;

/** More than any pool here leaves a node unused, and a look of the disruption after it. */
const UNUSED_MINUTES = 3;
const NOTICE_MS = 30_000;
/** At least, and twice that at most: enough for another machine to come first. */
const MAINTENANCE_MS = 4 * MINUTE;
/** Refusals that end one after the other are waited for so often. */
const QUIET_TURNS = 10;
/** Whoever asks this reads the cluster itself, as no relay is heard of. */
const LISTS_NODES = /^GET \/api\/v1\/nodes(\?|$)/;
/** Of API servers that are to be upgraded. */
const OLDER_VERSION = '1.35.9';
/** Lines of the trace that are kept. */
const TRACE_MAX = 4000;

/** By the kind of hint that they carry. */
const QUEUE_OF = { pods: 'pods', objects: 'claims', launches: 'launches', signal: 'signals' } as const;

/** One cluster with its cloud, its queues and the app, on one clock and one seed. */
export class Simulation {
  readonly faults: Faults;
  readonly timeline: Timeline = new Timeline(START_MS);
  readonly server: ApiServer = new ApiServer({
    now: () => this.timeline.now() + this.faults.clocks.apiServerMs,
  });
  readonly azure: Azure;
  readonly laws: Laws;
  readonly host: Host;
  readonly queues: Queues;
  readonly trace: Array<string> = [];
  readonly outside: Outside;
  readonly #rng: Rng;
  readonly #blobs = new MemoryBlobs(() => this.timeline.now());
  readonly #policies: Policies;
  readonly #rest: Rest;
  readonly #wished: Wished;
  readonly #cluster: Cluster;
  readonly #decisions = new Map<string, Decision>();
  #refusals: ReadonlyArray<Refusal> = [];
  readonly storms: SpotStorms = new SpotStorms();
  readonly releases: Releases;
  /** All that Azure ever refused. */
  readonly #refused: Array<Refusal> = [];
  #relay: SimulatedRelay | null = null;
  #terms = 0;
  /**
   * Up to when what the last relay that died has published lacks nothing, and when one of us has read all nodes itself.
   */
  #lastViewMs = 0;
  #listedMs = 0;
  readonly #announced = new Set<string>();
  #healed = false;

  readonly #disrupts: boolean;
  readonly #versions: Rng;

  constructor(seed: string, faults?: Faults, disrupts = false) {
    this.#disrupts = disrupts;
    this.#rng = rngFrom(seed);
    this.#versions = this.#rng.split('versions');
    this.faults = faults ?? drawFaults(this.#rng.split('faults'));
    const { timeline, server } = this;
    this.#wished = { wishes: this.faults.wishes, rng: this.#rng.split('wishes') };
    this.#policies = new Policies(this.faults.policies, {
      server,
      elapsedMs: () => timeline.now() - START_MS,
      isHealed: () => this.#healed,
    });
    this.laws = new Laws({
      timeline,
      server,
      azure: () => this.azure,
      host: () => this.host,
      decisionOf: (name) => this.#decisionOf(name),
      viewMs: () => Math.max(this.#relay?.holdsMs() ?? this.#lastViewMs, this.#listedMs),
      releaseMistake: (claim) => this.releases.mistake(claim),
      isInStormAt: (offering, atMs) => this.storms.isKnownAt(offering, atMs),
      wasRefused: (offering, atMs) => isRefusedSince(this.#refused, offering, atMs),
    });
    this.#cluster = new Cluster({
      timeline,
      server,
      rng: this.#rng.split('cluster'),
      azure: () => this.azure,
      faults: this.faults.nodes,
      note: (text) => this.#note(text),
    });
    this.releases = new Releases({
      timeline,
      server,
      rng: this.#rng.split('releases'),
      note: (text) => this.#note(text),
      setReady: (node, status) => this.#cluster.setReady(node, status),
      tell: (name) => this.#tellClass(name),
    });
    this.azure = this.#createAzure();
    const queue = (settings: typeof podsQueue): Queue =>
      new Queue(settings, {
        timeline,
        rng: this.#rng.split(settings.name),
        faults: this.faults.queues,
        onAvailable: () => this.host.pump(),
      });
    this.queues = {
      pods: queue(podsQueue),
      claims: queue(claimsQueue),
      launches: queue(launchesQueue),
      signals: queue(signalsQueue),
    };
    const { azure, queues, releases } = this;
    this.#rest = new Rest({
      server,
      azure,
      queues,
      releases,
      policies: this.#policies,
      disrupts,
      announced: this.#announced,
    });
    this.outside = this.#createOutside();
    this.host = new Host({
      outside: this.outside,
      rng: this.#rng.split('host'),
      faults: this.faults.calls,
      queues: this.queues,
    });
    server.watch((change) => this.#watched(change));
    createInitialObjects(server, this.#rng.split('initial'), this.#wished);
    if (disrupts) this.releases.draw();
    const { relayComesAfterMs } = this.faults;
    if (relayComesAfterMs === 0) this.#startRelay();
    else this.timeline.after(relayComesAfterMs, () => this.#relay ?? this.#startRelay());
  }

  /**
   * Minutes during which everything that the seed drew goes wrong. Throws, as all that runs does, when a law is broken.
   */
  async runWithFaults(minutes: number): Promise<void> {
    const rng = this.#rng.split('events');
    const storms = this.#rng.split('storms');
    const strays = this.#rng.split('strays');
    const losses = this.#rng.split('losses');
    const stalls = this.#rng.split('stalls');
    for (let second = 0; second < minutes * 60; second += 10) {
      this.timeline.after(second * 1000 + rng.below(10_000), () => this.#disturb(rng));
      this.timeline.after(second * 1000 + storms.below(10_000), () => this.#storm(storms));
      this.timeline.after(second * 1000 + strays.below(10_000), () => this.#stray(strays));
      this.timeline.after(second * 1000 + losses.below(10_000), () => this.#lose(losses));
      this.timeline.after(second * 1000 + stalls.below(10_000), () => this.#stall(stalls));
    }
    await this.#run(minutes * MINUTE);
  }

  /** So much time passes. Throws, as all that runs does, when a law is broken. */
  async pass(durationMs: number): Promise<void> {
    await this.#run(durationMs);
  }

  /** Azure takes the machine back, whatever has been said of it. */
  takeBack(claim: string): void {
    const vm = this.azure.vms.get(claim);
    if (vm !== undefined) this.#takeBack(vm);
  }

  /** From here on nothing goes wrong, and what users asked for is allowed. */
  heal(): void {
    this.#healed = true;
    for (const pool of this.server.list('nodepools')) {
      this.server.patch('nodepools', pool.metadata.name, { spec: { limits: null } }, 'object');
    }
    this.releases.mend();
    this.#cluster.mend();
    mendWishes(this.server);
    this.azure.faults = noFaults.azure;
    for (const queue of Object.values(this.queues)) queue.faults = noFaults.queues;
    if (this.#relay === null) this.#startRelay();
  }

  /** Runs until nothing is left to do; false when that has not come within `minutes`. */
  async runUntilSettled(minutes: number): Promise<boolean> {
    // What is told by a relay whose clock is ahead comes later.
    const unused = UNUSED_MINUTES + Math.max(0, Math.ceil(this.faults.clocks.relayMs / MINUTE));
    for (let minute = 0; minute < minutes; minute++) {
      await this.#run(MINUTE);
      if (this.unsettled().length > 0) continue;
      // Whether a node may be consolidated shows some time after its pods have come: rest is what lasts.
      const before = this.#rest.image();
      await this.#run(unused * MINUTE);
      if (this.unsettled().length === 0 && this.#rest.image() === before) return true;
    }
    return false;
  }

  /**
   * The same, and no storm, nothing that Azure or a policy has refused, and no time that a node is given, has ended in
   * the last minute or ends within the next two: that would be news.
   */
  async runUntilQuiet(minutes: number): Promise<boolean> {
    for (let turn = 0; turn < QUIET_TURNS; turn++) {
      // One after the other.
      if (!(await this.runUntilSettled(minutes))) return false;
      const [fromMs, toMs] = [this.timeline.now() - MINUTE, this.timeline.now() + 2 * MINUTE];
      const { storms } = this.storms.memory;
      const own = [...this.#givenTime(), ...this.#denied(), ...this.#draining()];
      const ends = [...this.#refusals, ...storms, ...own].map(({ untilMs }) => untilMs);
      if (!ends.some((untilMs) => untilMs > fromMs && untilMs <= toMs)) return true;
      await this.#run(2 * MINUTE);
    }
    return true;
  }

  /**
   * Until when nodes are given time: to show what they are worth, before others of their pool are replaced; and to
   * join, for whoever may not say that they have.
   */
  #givenTime(): ReadonlyArray<{ readonly untilMs: number }> {
    return this.server.list('nodeclaims').map(({ metadata, status }) => {
      const pool = this.server.get('nodepools', metadata.labels?.['karpenter.sh/nodepool'] ?? '');
      const conditions = (status?.['conditions'] ?? []) as ReadonlyArray<Fields>;
      const joined = conditions.find(({ type, status: said }) => type === 'Initialized' && said === 'True');
      const bornMs = Date.parse(metadata.creationTimestamp ?? '');
      if (joined === undefined) return { untilMs: bornMs + JOINING_MS };
      const bakeMs = pool === null ? 0 : (bakeMsOf(pool.metadata) ?? 0);
      return { untilMs: Date.parse(joined['lastTransitionTime'] ?? '') + bakeMs };
    });
  }

  /** Until when what a policy denies is not tried again: a node may come in place of one that stays after all. */
  #denied(): ReadonlyArray<{ readonly untilMs: number }> {
    return this.server.list('nodeclaims').flatMap(({ status }) => {
      const untilMs = deniedUntilMs(status?.['conditions'], this.timeline.now());
      return untilMs === null ? [] : { untilMs };
    });
  }

  /** Until when pods may stay that nothing evicts: with their node goes what kept the next one of its pool. */
  #draining(): ReadonlyArray<{ readonly untilMs: number }> {
    return this.server.list('nodeclaims').flatMap(({ metadata }) => {
      const deadline = metadata.annotations?.[annotation.terminationTimestamp];
      return metadata.deletionTimestamp === undefined || deadline === undefined
        ? []
        : { untilMs: Date.parse(deadline) };
    });
  }

  /** Spot storms pass, and with them what Azure has refused. */
  async endStorms(): Promise<void> {
    const lastMs = Math.max(0, ...this.#refusals.map(({ untilMs }) => untilMs));
    await this.#run(Math.max(0, lastMs - this.timeline.now()));
    this.storms.end(this.timeline.now());
  }

  /**
   * Nodes that cost four times what they would as spot, which their pool allows, and which it replaces where that is
   * cheaper. Those are not among them for which the planner finds no order of steps, with a tenth of the nodes at a
   * time.
   */
  async notBackOnSpot(): Promise<ReadonlyArray<string>> {
    let withoutOrder: ReadonlySet<string> | null = null;
    void nodesWithoutOrder(this.host.anyProcess().ports).then((names) => (withoutOrder = names));
    await this.#run(MINUTE);
    const names: ReadonlySet<string> = withoutOrder ?? new Set();
    const held = this.#rest.held();
    const heldPools = this.#rest.pausedPools();
    return this.server
      .list('nodeclaims')
      .filter(({ metadata }) => !held.has(metadata.name))
      .filter(({ metadata }) => !heldPools.has(metadata.labels?.['karpenter.sh/nodepool'] ?? ''))
      .filter(({ metadata }) => metadata.labels?.['karpenter.sh/capacity-type'] === 'on-demand')
      .filter(({ metadata }) => !names.has(`aks-${metadata.name}`))
      .filter(({ metadata }) => {
        const { template, disruption } =
          this.server.get('nodepools', metadata.labels?.['karpenter.sh/nodepool'] ?? '')?.spec ?? {};
        const values: ReadonlyArray<string> = template?.spec.requirements[0]?.values ?? [];
        return values.includes('spot') && disruption?.consolidationPolicy === 'WhenEmptyOrUnderutilized';
      })
      .map(({ metadata }) => `${metadata.name} is on demand still`);
  }

  async #run(durationMs: number): Promise<void> {
    await this.timeline.run(this.timeline.now() + durationMs, () => {
      this.laws.look();
      for (const { dead } of Object.values(this.queues)) {
        if (dead[0] !== undefined) this.laws.broken.push(`dead letter ${dead[0].id} ${JSON.stringify(dead[0].body)}`);
      }
      const [broken] = this.laws.broken;
      if (broken !== undefined) throw new Error(broken);
    });
  }

  /** What is not as it should be when all is done. */
  unsettled(): ReadonlyArray<string> {
    return this.#rest.unsettled();
  }

  /** What the seed has drawn, for who reads of a failure. */
  drawn(): ReadonlyArray<string> {
    return renderDrawn(this.faults, this.#policies.told());
  }

  /** Looks once more at everything: what it changes, it should have changed before. Names what differs. */
  async lookOnceMore(): Promise<ReadonlyArray<string>> {
    const before = this.#rest.image();
    const process = this.host.anyProcess();
    let wrong: string | null = 'the looks did not end';
    const looks = async (): Promise<null> => {
      // What the relay has published may be lost, and nothing has changed since.
      await provision(process.ports, { mayList: true });
      await sweep(process.ports);
      await disrupt(process.ports);
      return null;
    };
    void looks().then(
      (none) => (wrong = none),
      (error: unknown) => (wrong = `a look fails: ${String(error)}`),
    );
    await this.#run(MINUTE);
    const after = this.#rest.image();
    return [...(wrong === null ? [] : [wrong]), ...(after === before ? [] : [`${before}\nbecame\n${after}`])];
  }

  /** As the timer of the class's own looks would, which come a quarter of an hour apart. */
  #tellClass(occasion: string): void {
    const objects: Array<FollowedObject> = [{ kind: 'AKSNodeClass', name: 'default' }];
    for (const { id, sessionId, body } of toQueueMessages(
      { kind: 'objects', version: 1, cluster: CLUSTER, reason: 'release', objects },
      occasion,
    )) {
      this.queues.claims.send({ id, sessionId, body, atMs: null });
    }
  }

  #createAzure(): Azure {
    return new Azure({
      timeline: this.timeline,
      rng: this.#rng.split('azure'),
      faults: this.faults.azure,
      listener: {
        created: (vm) => {
          this.#note(
            `azure: VM ${vm.machine.claim} ${vm.machine.instanceType} ${vm.machine.zone} ${vm.machine.capacityType}`,
          );
          this.laws.vmCreated(vm);
        },
        running: (vm) => this.#cluster.boot(vm),
        gone: (vm, by) => {
          this.#note(`azure: VM ${vm.machine.claim} is gone, by ${by}`);
          this.laws.vmGone(vm, by);
          this.#cluster.vmGone(vm);
        },
      },
    });
  }

  #createOutside(): Outside {
    const { timeline, server, azure, queues } = this;
    return {
      cluster: CLUSTER,
      disrupts: this.#disrupts,
      timeline,
      server,
      azure,
      blobs: this.#blobs,
      queueOf: (hint) => queues[QUEUE_OF[hint.kind]],
      answer: (request) => this.#policies.answer(request) ?? answer(server, request, this.#version()),
      image: () => this.releases.image,
      isHealed: () => this.#healed,
      refusals: () => this.#refusals,
      refuse: (refusals) => {
        this.#refusals = addRefusals(this.#refusals, refusals, timeline.now());
        this.#refused.push(...this.#refusals);
      },
      spotMemory: () => this.storms.memory,
      evicted: (machine) => this.storms.evicted(machine, timeline.now()),
      nextRetryMs: () => {
        const ends = this.#refusals.map(({ untilMs }) => untilMs).filter((untilMs) => untilMs > timeline.now());
        return ends.length === 0 ? null : Math.min(...ends);
      },
      poison: (message, reason, from) => {
        const malformed = typeof message === 'object' && message !== null && 'malformed' in message;
        if (!malformed) this.laws.broken.push(`poison from ${from}: ${reason} ${JSON.stringify(message)}`);
      },
      act: (by, what, effect) => this.#act(by, what, effect),
      log: (process, event, facts) => {
        this.#note(`${process}: ${event} ${JSON.stringify(facts)}`);
        this.laws.logged(event, facts);
      },
      note: (text) => this.#note(text),
    };
  }

  #act<T>(by: { readonly name: string }, what: string, effect: () => T): T {
    const [verb = '', path = ''] = what.split(' ');
    const found = this.laws.broken.length;
    this.laws.acting(what);
    if (LISTS_NODES.test(what)) this.#listedMs = this.timeline.now();
    const result = effect();
    // What is on condition of a version, and meets another, is not done, nor is what a policy denies.
    if (NOT_DONE.has(statusOf(result))) this.laws.broken.length = found;
    const quiet = verb === 'GET' || verb === 'read' || path.endsWith('/events');
    if (!quiet) this.#note(`${by.name}: ${what}${statusOf(result)}`);
    return result;
  }

  #watched(change: Change): void {
    this.#relay?.observe(change);
    const { resource, before, after } = change;
    if (resource === 'events' || resource === 'leases' || resource === 'replicasets') return;
    const { metadata, spec } = after ?? before ?? { metadata: null };
    if (metadata === null) return;
    const what = after === null ? 'gone' : before === null ? 'new' : '';
    const marks = [
      what,
      metadata.deletionTimestamp === undefined ? '' : 'deleting',
      spec?.['nodeName'] === undefined ? '' : `on ${String(spec['nodeName'])}`,
    ].filter(Boolean);
    if (marks.length > 0) this.#note(`  ${resource} ${metadata.name} ${marks.join(' ')}`);
  }

  #note(text: string): void {
    const seconds = (this.timeline.now() - START_MS) / 1000;
    this.trace.push(`${seconds.toFixed(3).padStart(9)} ${text}`);
    if (this.trace.length > 2 * TRACE_MAX) this.trace.splice(0, TRACE_MAX);
  }

  #decisionOf(name: string): Decision | null {
    const known = this.#decisions.get(name);
    if (known !== undefined) return known;
    const blob = this.#blobs.readNow(`${CLUSTER}/${name}.json.gz`);
    if (blob === null) return null;
    const decision = JSON.parse(gunzipSync(blob.bytes).toString('utf8')) as Decision;
    this.#decisions.set(name, decision);
    return decision;
  }

  #startRelay(): void {
    this.#terms += 1;
    this.#note(`relay starts, term ${this.#terms}`);
    this.#relay = new SimulatedRelay(
      {
        cluster: CLUSTER,
        timeline: this.timeline,
        rng: this.#rng.split(`relay ${this.#terms}`),
        server: this.server,
        blobs: this.#blobs,
        queues: this.queues,
        aheadMs: this.faults.clocks.relayMs,
      },
      this.#terms,
    );
  }

  #killRelay(forMs: number): void {
    if (this.#relay === null) return;
    this.#note('relay dies');
    this.#lastViewMs = this.#relay.holdsMs() ?? this.#lastViewMs;
    this.#relay.kill();
    this.#relay = null;
    this.timeline.after(forMs, () => {
      if (this.#relay === null) this.#startRelay();
    });
  }

  /** Ten seconds in which the relay may begin to stall. */
  #stall(rng: Rng): void {
    if (this.#healed || !rng.chance(this.faults.events.relayStalls / 6)) return;
    const forMs = 10_000 + rng.below(80_000);
    this.#note(`relay stalls for ${forMs / 1000} s`);
    this.#relay?.stall(forMs);
  }

  /** Ten seconds of what users do and what goes wrong. */
  #disturb(rng: Rng): void {
    if (this.#healed) return;
    const { events } = this.faults;
    const perMinute = (percent: number): boolean => rng.chance(percent / 6);
    const pick = <T>(list: ReadonlyArray<T>): T | undefined => list[rng.below(Math.max(1, list.length))];
    if (perMinute(60)) changeLoad(this.server, rng, this.#wished);
    const vms = [...this.azure.vms.values()].filter(({ state }) => state === 'running');
    if (perMinute(events.maintenance)) this.#maintain(pick(vms), rng);
    if (perMinute(events.spotEviction)) this.#evict(pick(vms.filter((vm) => vm.machine.capacityType === 'spot')), rng);
    if (perMinute(events.relayDies)) this.#killRelay(20_000 + rng.below(240_000));
    if (perMinute(events.allNodesLost)) {
      this.#killRelay(60_000 + rng.below(120_000));
      for (const vm of vms) this.#takeBack(vm);
    }
    if (perMinute(events.userDeletesClaim)) this.#userDeletes('nodeclaims', pick(this.server.list('nodeclaims')), rng);
    if (perMinute(events.userDeletesNode)) this.#userDeletes('nodes', pick(this.server.list('nodes')), rng);
    if (perMinute(events.userStripsClaim)) this.#userStrips(pick(this.server.list('nodeclaims'))?.metadata.name);
    if (perMinute(events.malformedMessage)) {
      const queue = pick(Object.values(this.queues));
      queue?.send({ id: `bad-${rng.below(1e9)}`, sessionId: CLUSTER, body: { malformed: true }, atMs: null });
    }
  }

  #userDeletes(
    resource: string,
    object: { readonly metadata: { readonly name: string } } | undefined,
    _rng: Rng,
  ): void {
    if (object === undefined) return;
    const { name } = object.metadata;
    this.laws.doom(name.replace(/^aks-/, ''));
    this.#note(`user deletes ${resource} ${name}`);
    this.server.delete(resource, name);
  }

  #userStrips(name: string | undefined): void {
    if (name === undefined) return;
    this.laws.strip(name);
    this.#note(`user deletes claim ${name} and its finalizers`);
    this.server.delete('nodeclaims', name);
    this.server.patch('nodeclaims', name, { metadata: { finalizers: null } }, 'object');
  }

  /** Which of the API servers answers: some may be a version back. */
  #version(): string {
    if (this.#healed || !this.faults.olderApiServers) return KUBERNETES_VERSION;
    return this.#versions.chance(50) ? OLDER_VERSION : KUBERNETES_VERSION;
  }

  /** Ten seconds in which notices may come that say nothing true. */
  #stray(rng: Rng): void {
    if (this.#healed) return;
    const { timeline, server, queues } = this;
    const { forgedSignal, staleSignal } = this.faults.events;
    const vms = [...this.azure.vms.values()].filter(({ state }) => state === 'running');
    const note = (text: string): void => this.#note(text);
    const parts = { cluster: CLUSTER, server, signals: queues.signals, nowMs: () => timeline.now(), note };
    if (rng.chance(forgedSignal / 6)) forgeSignal(parts, rng, vms);
    if (rng.chance(staleSignal / 6)) tellLate(parts, rng, vms);
  }

  /** Ten seconds in which blobs may be lost. */
  #lose(rng: Rng): void {
    if (this.#healed) return;
    const parts = {
      cluster: CLUSTER,
      blobs: this.#blobs,
      decisionLost: (name: string): void => {
        // The laws know what it said.
        this.#decisionOf(name);
        this.laws.decisionLost(name);
      },
      forgetCatalog: (): void => {
        this.#refusals = [];
        this.storms.forget(this.timeline.now());
      },
      note: (text: string): void => this.#note(text),
    };
    loseBlobs(parts, this.faults.events, (percent) => rng.chance(percent / 6), rng);
  }

  /** Ten seconds in which a family, or all spot, of a zone may be taken at once. */
  #storm(rng: Rng): void {
    if (this.#healed || !rng.chance(this.faults.events.spotStorm / 6)) return;
    const spot = [...this.azure.vms.values()].filter(
      ({ state, machine }) => state === 'running' && machine.capacityType === 'spot',
    );
    const first = spot[rng.below(Math.max(1, spot.length))];
    if (first === undefined) return;
    const { zone, instanceType } = first.machine;
    const family = rng.chance(60) ? familyOf(instanceType) : null;
    this.#note(`azure: spot${family === null ? '' : ` of ${family}`} in ${zone} is taken back`);
    for (const vm of spot) {
      if (vm.machine.zone !== zone || (family !== null && familyOf(vm.machine.instanceType) !== family)) continue;
      if (rng.chance(90)) this.#evict(vm, rng);
    }
  }

  /** Azure announces minutes ahead that a machine is redeployed, which the node tells, and takes it away then. */
  #maintain(vm: Vm | undefined, rng: Rng): void {
    if (vm === undefined) return;
    const { claim } = vm.machine;
    const inMs = MAINTENANCE_MS + rng.below(MAINTENANCE_MS);
    this.laws.announce(claim, this.timeline.now() + inMs);
    this.#note(`azure: ${claim} will be redeployed in ${inMs / 1000} s`);
    const message = `Redeploy Scheduled: ${new Date(this.timeline.now() + inMs).toUTCString()}. DurationInSeconds: -1.`;
    const known = this.server.get('nodes', `aks-${claim}`)?.status?.['conditions'] ?? [];
    const conditions = [...known, { type: 'VMEventScheduled', status: 'True', reason: 'RedeployScheduled', message }];
    this.server.patch('nodes', `aks-${claim}`, { status: { conditions } }, 'status');
    this.#announced.add(claim);
    this.timeline.after(inMs, () => {
      this.#announced.delete(claim);
      if (this.azure.vms.get(claim) === vm) this.#takeBack(vm);
    });
  }

  /** Azure announces by one or two paths, or none, that it takes a spot machine back, and does. */
  #evict(vm: Vm | undefined, rng: Rng): void {
    if (vm === undefined) return;
    const { claim, providerId } = vm.machine;
    const at = this.timeline.now() + NOTICE_MS;
    this.laws.preempt(claim, at);
    this.#note(`azure: ${claim} will be evicted`);
    const when = new Date(at).toUTCString();
    const vmId = providerId.slice('azure://'.length);
    if (rng.chance(70)) {
      const node = this.server.get('nodes', `aks-${claim}`);
      const message = `Preempt Scheduled: ${when}. DurationInSeconds: -1. EventId: 00000000-0000-0000-0000-${String(this.timeline.now()).slice(-12)}`;
      const conditions = [
        ...(node?.status?.['conditions'] ?? []),
        { type: 'PreemptionScheduled', status: 'True', reason: 'PreemptScheduled', message },
      ];
      this.timeline.after(rng.below(3_000), () => {
        this.server.patch('nodes', `aks-${claim}`, { status: { conditions } }, 'status');
      });
    }
    if (rng.chance(50)) this.host.push(scheduledEvent(vmId, when));
    this.timeline.after(NOTICE_MS, () => {
      this.#takeBack(vm);
      if (rng.chance(50)) this.host.push(annotated(vmId));
    });
  }

  #takeBack(vm: Vm): void {
    this.laws.doom(vm.machine.claim);
    this.azure.remove(vm, 'azure');
  }
}

const NOT_DONE: ReadonlySet<string> = new Set([' → 403', ' → 409', ' → 422']);

function statusOf(result: unknown): string {
  if (typeof result === 'string' || typeof result === 'boolean') return ` → ${result}`;
  const { status, kind } = (result ?? {}) as { readonly status?: unknown; readonly kind?: unknown };
  const said = typeof status === 'number' ? status : typeof kind === 'string' ? kind : null;
  return said === null ? '' : ` → ${said}`;
}

function scheduledEvent(vmId: string, when: string): object {
  const properties = { EventId: `event-${when}`, EventType: 'Preempt', EventStatus: 'Scheduled', NotBefore: when };
  return {
    id: `scheduled-${when}`,
    subject: vmId,
    eventType: 'Microsoft.ResourceNotifications.MaintenanceResources.ScheduledEventEmitted',
    data: { resourceInfo: { properties } },
  };
}

function annotated(vmId: string): object {
  const properties = { annotationName: 'VirtualMachinePreempted', targetResourceId: vmId };
  return {
    id: `annotated-${vmId}`,
    subject: vmId,
    eventType: 'Microsoft.ResourceNotifications.HealthResources.ResourceAnnotated',
    data: { resourceInfo: { properties } },
  };
}
