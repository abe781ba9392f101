import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { OrderedFault } from '../../../sandbox/azure/limits/ordered-fault.ts';
import { noFaults } from '../../../sandbox/azure/state/options.ts';
import { expectConsistent } from '../kit/consistent.ts';
import { deployment, nodeClass, nodePool } from '../kit/manifests.ts';
import { type Queues, openQueues } from '../kit/queues.ts';
import { onceOn } from '../kit/once-on.ts';
import { removeAll } from '../kit/remove-all.ts';
import { type Claim, type Definition, conditionOf } from '../kit/state.ts';
import { type Mode, type World, startWorld } from '../kit/world.ts';

const CLAIMS = '/apis/karpenter.sh/v1/nodeclaims';
const POOLS = '/apis/karpenter.sh/v1/nodepools';
const POD_EVENTS = '/api/v1/namespaces/default/events?fieldSelector=reason%3DFailedScheduling';

const CLASS_REF = { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' };

/** The cheapest sizes that hold four cores' worth of pods; a refusal counts for all zones of a size. */
const SOLD_OUT = [
  'D4als_v6',
  'D4als_v7',
  'D4ls_v5',
  'D4ls_v6',
  'D4as_v5',
  'D4as_v6',
  'D4s_v5',
  'D8als_v6',
  'D8als_v7',
].map((name) => `Standard_${name}`);

/** The app's identity may not query Resource Graph: neither for the tenant nor for the subscription. */
const NO_RATES: OrderedFault = {
  method: 'POST',
  pathContains: 'Microsoft.ResourceGraph',
  times: 2,
  fault: { kind: 'refuse', status: 403, code: 'AccessDenied', message: 'No role.', retryAfterSeconds: null },
};

/** So that nothing else is asked of Resource Graph, and the two refusals meet what they are for. */
const KNOWN = { DNS_SERVICE_IP: '10.0.0.10', AZURE_TENANT_ID: '00000000-0000-0000-0000-000000000001' };

/** A claim that is given up is there for up to a minute. */
const GIVEN_UP_WITHIN_MS = 150_000;

/** What people, old clients and Azure do wrong, and that the rest goes on. */
export function failureCases(mode: Mode): void {
  describe(`failures (${mode})`, () => {
    const rarely = onceOn(mode);
    let world: World;
    let queues: Queues;

    beforeAll(async () => {
      world = await startWorld(mode, { hosts: 'as-on-azure', azure: { orderedFaults: [NO_RATES] }, settings: KNOWN });
      queues = openQueues(world);
      await world.apply(nodeClass);
    });
    afterAll(async () => {
      await queues?.close();
      await world?.close();
    });
    afterEach(async () => {
      await queues.drainPoison();
      await removeAll(world);
    });

    it('a malformed message is kept with its reason, and the messages behind it are served', async () => {
      const objects = { kind: 'objects', version: 1, cluster: 'sandbox', reason: 'test' };
      const garbage: ReadonlyArray<readonly [string, unknown]> = [
        ['pods', 'no JSON object'],
        ['pods', { kind: 'pods', version: 99, cluster: 'sandbox', snapshot: null, reason: 'from the future' }],
        ['pods', null],
        // These two leave the client as they are: the real host, asked for objects, would give back all that arrives
        // with them.
        ['pods', Buffer.from('not json')],
        ['signals', Buffer.from('{"kind":')],
        ['claims', { ...objects, objects: [{ kind: 'Secret', name: 'x' }] }],
        ['claims', [1, 2, 3]],
        ['signals', { kind: 'signal', version: 1, cluster: 'sandbox', event: 'explode' }],
        ['signals', Buffer.from([0xff, 0xfe, 0x00])],
      ];
      for (const [queue, body] of garbage) {
        await queues.send(queue, body, queue === 'pods' ? { sessionId: 'sandbox' } : {});
      }
      await world.apply(nodePool('general'), deployment('inflate', 4));
      await expectConsistent(world, { pods: 4, poison: garbage.length });
      const kept = await queues.drainPoison();
      expect(kept).toHaveLength(garbage.length);
      for (const { applicationProperties = {} } of kept) {
        expect(String(applicationProperties['reason'])).toMatch(/TypeError|SyntaxError/);
        expect(['provision', 'follow', 'interrupt']).toContain(applicationProperties['function']);
      }
    });

    it('without the right to read eviction rates spot nodes come all the same, and the log says which role is missing', async () => {
      await world.apply(nodePool('spot', { capacityTypes: ['spot'] }), deployment('inflate', 2));
      const { vms } = await expectConsistent(world, { pods: 2 });
      expect(new Set(vms.map(({ capacityType }) => capacityType))).toEqual(new Set(['spot']));
      await world.until('the sweep says so', () => world.lines.some((line) => line.includes('eviction-rates-unknown')));
      const said = world.lines.filter((line) => line.includes('eviction-rates-unknown'));
      expect(said).toHaveLength(1);
      expect(said[0]).toContain('Microsoft.ResourceGraph/resources/read');
    });

    rarely('an event that is none of ours, or no event at all, harms nobody', async () => {
      const url = `${world.sandbox.functionsUrl}/runtime/webhooks/EventGrid?functionName=interruptEventGrid`;
      for (const body of ['', '{', '[]', '[{"id":1}]', '[{"eventType":"Contoso.Items.ItemReceived","data":null}]']) {
        const answer = await fetch(url, {
          method: 'POST',
          body,
          headers: { 'aeg-event-type': 'Notification', 'content-type': 'application/json' },
        });
        expect(answer.status, body).toBeLessThan(600);
      }
      await queues.drainPoison();
      await world.apply(nodePool('general'), deployment('inflate', 2));
      await expectConsistent(world, { pods: 2 });
    });

    rarely('a pool with fields that nobody knows works by those that are known', async () => {
      const pool = nodePool('general') as { readonly spec: object };
      // As an old client does, which asks for no strict validation.
      await world.api.create(POOLS, { ...pool, spec: { ...pool.spec, fieldOfTheFuture: { a: 1 } } });
      await world.apply(deployment('inflate', 2));
      await expectConsistent(world, { pods: 2 });
    });

    rarely('a pool whose class does not exist says so, and others serve its pods', async () => {
      await world.apply(nodePool('broken', { nodeClass: 'nobody' }));
      await world.until('the pool says what is wrong', async () => {
        const ready = conditionOf(await world.api.get<Definition>(`${POOLS}/broken`), 'NodeClassReady');
        return ready?.status === 'False' && ready.message?.includes('AKSNodeClass nobody does not exist') === true;
      });
      await world.apply(nodePool('general'), deployment('inflate', 2));
      const { claims } = await expectConsistent(world, { pods: 2 });
      expect(claims.map(({ metadata }) => metadata.labels?.['karpenter.sh/nodepool'])).not.toContain('broken');
    });

    rarely('a claim by hand without a pool gets its machine, and takes it along', async () => {
      await world.apply(claim('by-hand', [{ key: 'karpenter.azure.com/sku-family', operator: 'In', values: ['D'] }]));
      await expectConsistent(world, { pods: 0, mayBeEmpty: true });
      await world.until('it is ready', ({ claims }) =>
        claims.some((one) => conditionOf(one, 'Ready')?.status === 'True'),
      );
      await world.api.remove(`${CLAIMS}/by-hand`, {});
      await world.until('all is gone', ({ claims, nodes, vms }) => claims.length + nodes.length + vms.length === 0);
    });

    it('a claim that no machine can meet is removed, and so is one whose class does not exist [J01]', async () => {
      await world.apply(
        claim('impossible', [
          { key: 'node.kubernetes.io/instance-type', operator: 'In', values: ['Standard_Nothing'] },
        ]),
        claim('classless', [], { ...CLASS_REF, name: 'nobody' }),
      );
      const has = async (name: string): Promise<boolean> =>
        (await world.api.get<{ readonly items: ReadonlyArray<Claim> }>(CLAIMS)).items.some(
          ({ metadata }) => metadata.name === name,
        );
      await world.until('both are gone', async () => !(await has('impossible')) && !(await has('classless')));
      expect(world.sandbox.azure.vms()).toEqual([]);
    });

    rarely('a pod that fits no pool waits, is told why, and keeps nobody else from a node', async () => {
      await world.apply(nodePool('general'), deployment('huge', 1, { cpu: '900' }), deployment('inflate', 3));
      await world.until(
        'three run',
        ({ pods }) => pods.filter(({ status }) => status.phase === 'Running').length === 3,
      );
      await world.until('its event says why', async () => {
        const { items } = await world.api.get<{ readonly items: ReadonlyArray<{ readonly message: string }> }>(
          POD_EVENTS,
        );
        return items.some(({ message }) => message.startsWith('Failed to schedule pod, '));
      });
    });

    it('an ARM that throttles, fails, answers garbage or not at all: everything comes in the end', async () => {
      world.sandbox.azure.setFaults({
        ...noFaults,
        throttlePercent: 15,
        // The sandbox's pace: Azure's own minute is a case of the adapter's.
        retryAfterSeconds: 1,
        serverErrorPercent: 10,
        unavailablePercent: 5,
        lostResponsePercent: 10,
        garbagePercent: 10,
      });
      await world.apply(nodePool('general'), deployment('inflate', 12), deployment('more', 5, { memory: '8Gi' }));
      // A machine whose launch was tried again may come when its pods have found room elsewhere.
      await expectConsistent(world, { pods: 17, mayBeEmpty: true, withinMs: 150_000 });
      const { faults } = world.sandbox.azure.counters();
      expect(Object.keys(faults).length).toBeGreaterThan(2);
    });

    it('a size that is sold out is replaced by the next one within the same attempt', async () => {
      const givenUp = (): number => world.lines.filter((line) => line.includes('"nodeclaim-deleted"')).length;
      // A pod alone: of several each plan could make other nodes.
      const inflate = deployment('inflate', 1, { cpu: '3' });
      await world.apply(nodePool('general'), inflate);
      const { vms } = await expectConsistent(world, { pods: 1 });
      await removeAll(world);
      const before = givenUp();
      for (const { size } of vms) {
        world.sandbox.azure.exhaust({ size, zone: null, capacityType: null, code: 'SkuNotAvailable', remaining: 0 });
      }
      await world.apply(nodePool('general'), inflate);
      const after = await expectConsistent(world, { pods: 1 });
      expect(world.sandbox.azure.counters().refusals['SkuNotAvailable']).toBeGreaterThan(0);
      expect(givenUp(), 'claims that were given up').toBe(before);
      for (const { size } of after.vms) expect(vms.map((vm) => vm.size)).not.toContain(size);
    });

    rarely(
      'sizes that are sold out in the first zone: no claim is given up before twenty sizes have been tried',
      async () => {
        const soldOut = { zone: '1', capacityType: null, code: 'SkuNotAvailable', remaining: 0 } as const;
        for (const size of SOLD_OUT) world.sandbox.azure.exhaust({ ...soldOut, size });
        await world.apply(nodePool('general'), deployment('inflate', 4));
        await expectConsistent(world, { pods: 4 });
        const lines = world.lines.filter((line) => line.includes('"InsufficientCapacityError"'));
        expect(lines.filter((line) => !line.includes('"claim":"impossible"'))).toEqual([]);
      },
    );

    rarely(
      'a zone whose allocator fails after the PUT: the claim is given up and the pods are planned elsewhere',
      async () => {
        world.sandbox.azure.failZone('1');
        world.sandbox.azure.failZone('2');
        await world.apply(nodePool('general'), deployment('inflate', 4));
        const { nodes } = await expectConsistent(world, { pods: 4, withinMs: GIVEN_UP_WITHIN_MS });
        const zones = nodes.map(({ metadata }) => metadata.labels?.['topology.kubernetes.io/zone']);
        expect(new Set(zones)).toEqual(new Set(['westeurope-3']));
      },
    );

    rarely('machines that are allocated and never report are given up, and the pods are planned again', async () => {
      world.sandbox.azure.setFaults({ ...noFaults, provisioningFailurePercent: 100 });
      await world.apply(nodePool('general'), deployment('inflate', 4));
      await world.until(
        'one has failed',
        () => (world.sandbox.azure.counters().refusals['OSProvisioningTimedOut'] ?? 0) > 0,
      );
      world.sandbox.azure.setFaults(noFaults);
      await expectConsistent(world, { pods: 4, withinMs: GIVEN_UP_WITHIN_MS });
    });
  });
}

function claim(name: string, requirements: ReadonlyArray<object>, nodeClassRef: object = CLASS_REF): object {
  return { apiVersion: 'karpenter.sh/v1', kind: 'NodeClaim', metadata: { name }, spec: { nodeClassRef, requirements } };
}
