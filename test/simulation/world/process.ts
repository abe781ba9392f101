import { auditDisruption } from '../../../shared/core/disruption/audit/audit-disruption.ts';
import { planDisruption } from '../../../shared/core/disruption/plan-disruption.ts';
import { planProvisioning } from '../../../shared/core/plan-provisioning.ts';
import { DEFAULT_DISRUPTION } from '../../../shared/core/model/disruption-input.ts';
import { createDefinitions } from '../../../shared/adapters/kubernetes/definitions.ts';
import { createKubernetes } from '../../../shared/adapters/kubernetes/kubernetes.ts';
import { createLedger } from '../../../shared/adapters/kubernetes/ledger.ts';
import { listSnapshot } from '../../../shared/adapters/kubernetes/list-snapshot.ts';
import type { ApiRequest } from '../../../shared/adapters/kubernetes/transport.ts';
import { createDecisions } from '../../../shared/adapters/storage/decisions.ts';
import { createDeviceMemory } from '../../../shared/adapters/storage/device-memory.ts';
import { createFiguresLog } from '../../../shared/adapters/storage/figures-log.ts';
import { createSnapshots } from '../../../shared/adapters/storage/snapshots.ts';
import type { Ports } from '../../../shared/app/ports/ports.ts';
import { KARPENTER_POLICY } from '../../../shared/core/model/provisioning-input.ts';
import { createTurns } from '../../../shared/app/ports/turns.ts';
import { createRecentPlaces } from '../../../shared/app/ports/recent-places.ts';
import { createUnwantedSince } from '../../../shared/app/ports/unwanted-since.ts';
import { createRecentReports } from '../../../shared/app/ports/recent-reports.ts';
import { toQueueMessages } from '../../../shared/contract/messages/queue-messages.ts';
import type { Blobs } from '../../../shared/ports/blobs.ts';
import { RetryableError } from '../../../shared/ports/errors.ts';
import type { Hints } from '../../../shared/ports/hints.ts';
import type { App } from '../../../shared/composition.ts';
import type { Rng } from '../../../sandbox/base/rng.ts';
import { instanceTypesAt } from './catalog.ts';
import type { CallFaults } from './faults.ts';
import type { Outside } from './outside.ts';
import { actOf } from './api-transport.ts';

interface ProcessParts {
  readonly name: string;
  readonly rng: Rng;
  readonly outside: Outside;
  readonly faults: () => CallFaults;
  readonly onDeath: () => void;
}

/** A promise that nobody will ever settle: what a killed process leaves of its work. */
function forever<T>(): Promise<T> {
  return new Promise<T>(() => {});
}

/** As long as our transports wait for an answer. */
const STALL_MAX_MS = 30_000;

const QUIET: CallFaults = { failBefore: 0, failAfter: 0, crash: 0, stall: 0 };

/**
 * One worker of the Functions app: the real adapters wherever they have no SDK below them, over an outside that answers
 * late, fails before or after it did what it was asked, and that may see the process die at any call.
 */
export class Process {
  readonly name: string;
  readonly app: App;
  readonly now: () => number;
  readonly after: (ms: number, act: () => void) => () => void;
  readonly ports: Ports;
  #alive = true;
  readonly #parts: ProcessParts;

  constructor(parts: ProcessParts) {
    this.#parts = parts;
    this.name = parts.name;
    const { outside } = parts;
    this.now = () => outside.timeline.now();
    this.after = (ms, act) => outside.timeline.after(ms, () => outside.timeline.resume(act));
    this.ports = this.#createPorts();
    this.app = {
      cluster: outside.cluster,
      hints: this.ports.hints,
      ports: (log) => Promise.resolve({ ...this.ports, log }),
      poison: async (message, reason, from) => {
        await this.#call('poison', () => outside.poison(message, reason, from));
      },
    };
  }

  get alive(): boolean {
    return this.#alive;
  }

  #die(): void {
    if (!this.#alive) return;
    this.#alive = false;
    this.#parts.outside.note(`${this.name} dies`);
    this.#parts.onDeath();
  }

  /** One call to the outside, with what may go wrong around it. `effect` is one step: nobody sees half of it. */
  async #call<T>(what: string, effect: () => T): Promise<T> {
    const { rng, outside } = this.#parts;
    const faults = outside.isHealed() ? QUIET : this.#parts.faults();
    if (!this.#alive) return forever();
    const stalls = rng.chance(faults.stall);
    await outside.timeline.sleep(stalls ? rng.below(STALL_MAX_MS) : 1 + rng.below(60));
    if (!this.#alive) return forever();
    if (rng.chance(faults.crash / 2)) return this.#end();
    if (rng.chance(faults.failBefore)) throw new RetryableError(`${what}: not reached`, retryAfter(rng));
    const result = outside.act(this, what, effect);
    if (rng.chance(faults.crash / 2)) return this.#end();
    if (rng.chance(faults.failAfter)) throw new RetryableError(`${what}: the answer was lost`, retryAfter(rng));
    if (rng.chance(30)) await outside.timeline.sleep(rng.below(60));
    return this.#alive ? result : forever();
  }

  #end<T>(): Promise<T> {
    this.#die();
    return forever();
  }

  #createPorts(): Ports {
    const { outside } = this.#parts;
    const { cluster, azure } = outside;
    const transport = (request: ApiRequest) => this.#call(actOf(request), () => outside.answer(request));
    const kubernetes = createKubernetes(transport);
    const blobs = this.#blobs();
    const types = () => instanceTypesAt(outside.refusals(), outside.spotMemory(), this.now());
    const nic = (claim: string) => this.#call(`nic ${claim}`, () => azure.ensureNic(claim));
    return {
      cluster,
      policy: { ...KARPENTER_POLICY, gates: { ...KARPENTER_POLICY.gates, staticCapacity: true } },
      disruption: { isOn: outside.disrupts, policy: DEFAULT_DISRUPTION },
      planner: planProvisioning,
      disruptionPlanner: (input, now) => {
        const plan = planDisruption(input, now);
        // All of it, where a look audits what it begins.
        const [finding] = auditDisruption(plan, input, now);
        if (finding !== undefined)
          outside.log(this.name, 'disruption-plan-refused', { finding: `${finding.rule}: ${finding.text}` });
        return plan;
      },
      dedicatesNodes: true,
      now: this.now,
      sleep: (ms) => outside.timeline.sleep(ms),
      kubernetes,
      definitions: createDefinitions(kubernetes, this.now),
      snapshots: createSnapshots(blobs, cluster, () =>
        listSnapshot(transport, cluster, this.now(), { buffers: false }),
      ),
      decisions: createDecisions(blobs, cluster),
      deviceMemory: createDeviceMemory(blobs, cluster),
      figuresLog: createFiguresLog(blobs, cluster),
      ledger: createLedger(kubernetes, 'nodewright-system', this.now),
      hints: this.#hints(),
      turns: createTurns(),
      told: createRecentReports(),
      places: createRecentPlaces(),
      unwanted: createUnwantedSince(),
      cloud: {
        launch: async (order) => {
          await nic(order.claim);
          await outside.timeline.sleep(200 + this.#parts.rng.below(1_500));
          return this.#call(`launch ${order.claim} ${order.offering.instanceType}`, () => azure.createVm(order));
        },
        observe: (claim) => this.#call(`observe ${claim}`, () => azure.observe(claim)),
        equip: (claim) => this.#call(`equip ${claim}`, () => azure.equip(claim)),
        diagnose: (claim) => this.#call(`diagnose ${claim}`, () => undefined),
        revokeTokens: (claim) => this.#call(`revoke ${claim}`, () => undefined),
        delete: (claim) => this.#call(`delete machine ${claim}`, () => azure.delete(claim)),
        inventory: () => this.#call('inventory', () => azure.inventory()),
      },
      nodeClassFacts: {
        subnet: () => this.#call('subnet', () => ({ kind: 'ready' })),
        deployment: () => Promise.resolve({ kind: 'ready' }),
        kubeletIdentity: () => Promise.resolve(null),
        maintenance: () => Promise.resolve({ kind: 'any-time' }),
        images: () => this.#call('images', () => [{ id: outside.image(), requirements: [] }]),
      },
      catalogs: {
        currency: 'USD',
        instanceTypes: () => this.#call('catalog', types),
        instanceTypeNames: () => this.#call('catalog', () => new Set(types().map(({ name }) => name))),
        refuse: (refusals) => this.#call('refuse', () => outside.refuse(refusals)),
        evicted: (machines) => this.#call('evicted', () => machines.flatMap((machine) => outside.evicted(machine))),
        refreshQuotas: () => Promise.resolve({ kind: 'unknown', why: 'the simulation has no quota' }),
        refreshEvictionRates: () => Promise.resolve({ kind: 'recent' }),
        refresh: () => Promise.resolve(),
        nextRetryMs: () => this.#call('next retry', () => outside.nextRetryMs()),
      },
      deviceSelectors: null,
      log: (event, facts) => outside.log(this.name, event, facts),
    };
  }

  #blobs(): Blobs {
    const { blobs } = this.#parts.outside;
    return {
      read: (name) => this.#call(`read ${name}`, () => blobs.readNow(name)),
      write: (name, bytes, condition) => this.#call(`write ${name}`, () => blobs.writeNow(name, bytes, condition)),
    };
  }

  #hints(): Hints {
    const { outside } = this.#parts;
    return {
      send: async (hints) => {
        const text = hints.map(({ key }) => key).join(' ');
        if (hints.length === 0) return;
        await this.#call(`send ${text}`, () => {
          for (const { hint, atMs, key } of hints) {
            for (const { id, sessionId, body } of toQueueMessages(hint, key)) {
              outside.queueOf(hint).send({ id, sessionId, body, atMs });
            }
          }
        });
      },
    };
  }
}

function retryAfter(rng: Rng): { readonly retryAfterMs?: number } {
  return rng.chance(50) ? {} : { retryAfterMs: 1_000 + rng.below(20_000) };
}
