import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { CompileSelector } from '../../../../shared/core/model/device-selector.ts';
import type { PublishedDevice } from '../../../../shared/kubernetes/device-manifest.ts';
import { auditPlan } from '../../../../shared/core/audit/audit-plan.ts';
import { instant } from '../../../../shared/core/quantity/units.ts';
import { planProvisioning } from '../../../../shared/core/plan-provisioning.ts';
import type { ProvisioningInput } from '../../../../shared/core/model/provisioning-input.ts';
import { input, node, pods, pool, shape, size, spec, zones } from '../../../kit/core/build.ts';
import {
  claim,
  fromTemplates,
  gpus,
  heldOn,
  inZone,
  nodeSlice,
  request,
  sharedSlice,
  sliceSpec,
  template,
  using,
} from '../../../kit/core/build-devices.ts';
import { drawsOf } from '../../../setup/draws.ts';

/** A law is some hundred plans: seconds here, more where the machine is busy. */
const slow = { timeout: 120_000 };

const compile: CompileSelector = () => () => true;

const parts: fc.Arbitrary<Partial<PublishedDevice>> = fc.constantFrom(
  {},
  {},
  { allowMultipleAllocations: true, capacity: { memory: { value: 4, requestPolicy: { default: 1 } } } },
  { consumesCounters: [{ counterSet: 'card', counters: { parts: { value: 2 } } }] },
);

const shapes = fc.array(
  fc.oneof(
    fc.constantFrom(['one'], ['one', 'two'], ['two'], ['all'], ['either']).map((names) => fromTemplates(...names)),
    fc.constantFrom(['ours'], ['ours', 'theirs'], ['bound']).map((names) => using(...names)),
    fc.constant(spec('2', '1Gi')),
    fc.constantFrom(...zones).map((zone) => ({
      ...fromTemplates('one'),
      nodeSelector: { 'topology.kubernetes.io/zone': zone },
    })),
  ),
  { minLength: 1, maxLength: 4 },
);

const deviceClassName = 'gpu';
const resourceClaimTemplates = [
  template('one'),
  template('two', { requests: [request('gpu', { count: 2 })] }),
  template('all', { requests: [request('gpu', { allocationMode: 'All' })] }),
  template('either', {
    requests: [
      {
        name: 'gpu',
        firstAvailable: [
          { name: 'three', deviceClassName, count: 3 },
          { name: 'one', deviceClassName },
        ],
      },
    ],
  }),
];

const inputs: fc.Arbitrary<ProvisioningInput> = fc
  .record({
    podSpecs: shapes,
    counts: fc.array(fc.integer({ min: 1, max: 3 }), { minLength: 4, maxLength: 4 }),
    onNodes: fc.array(fc.integer({ min: 0, max: 3 }), { maxLength: 2 }),
    inZones: fc.array(fc.integer({ min: 0, max: 2 }), { maxLength: 2 }),
    everywhere: fc.integer({ min: 0, max: 2 }),
    toCome: fc.constantFrom(0, 1, 3),
    device: parts,
  })
  .map(({ podSpecs, counts, onNodes, inZones, everywhere, toCome, device }) => {
    const sharedCounters = [{ name: 'card', counters: { parts: { value: 5 } } }];
    const nodes = onNodes.map((_, at) => node(`n${at}`, 4, 16));
    const running = nodes.length === 0 ? [] : pods(9, 1, { nodeName: 'n0', shape: podSpecs.length });
    return input({
      types: [size('Standard_D2_v5', 2, 8, 100_000), size('Standard_N8_v5', 8, 32, 500_000)],
      nodePools: [pool('general')],
      nodes,
      resourceSlices: [
        ...onNodes.map((count, at) => nodeSlice(`n${at}`, gpus(count, device), { sharedCounters })),
        ...inZones.map((count, at) =>
          sharedSlice(`z${at}`, gpus(count, device), { sharedCounters, nodeSelector: inZone(zones[at] ?? '') }),
        ),
        sharedSlice('net', gpus(everywhere, device), { sharedCounters, allNodes: true }),
      ],
      deviceClasses: [{ metadata: { name: deviceClassName } }],
      resourceClaimTemplates,
      resourceClaims: [claim('ours'), claim('theirs'), claim('bound', {}, heldOn('n0', ['gpu-0'], running))],
      devices: {
        kind: 'planned',
        compile,
        templates: new Map([
          ['general', new Map([['Standard_N8_v5', [sliceSpec('local', gpus(toCome, device), { sharedCounters })]]])],
        ]),
      },
      shapes: [...podSpecs.map((one) => shape(one)), shape(using('bound'))],
      pods: [...podSpecs.flatMap((_, at) => pods(at, counts[at] ?? 1)), ...running],
    });
  });

test(
  'every plan of pods with devices passes its audit, whatever the order of the lists',
  () => {
    let placed = 0;
    fc.assert(
      fc.property(inputs, (given) => {
        const plan = planProvisioning(given, instant(0));
        expect(auditPlan(plan, given)).toEqual([]);
        placed += plan.devices.length;
        const { cluster } = given;
        const reversed = {
          ...given,
          cluster: {
            ...cluster,
            pods: cluster.pods.toReversed(),
            nodes: cluster.nodes.toReversed(),
            resourceSlices: cluster.resourceSlices.toReversed(),
            resourceClaims: cluster.resourceClaims.toReversed(),
            resourceClaimTemplates: cluster.resourceClaimTemplates.toReversed(),
          },
        };
        expect(planProvisioning(reversed, instant(0))).toEqual(plan);
      }),
      { numRuns: drawsOf(120, 30) },
    );
    expect(placed).toBeGreaterThan(20);
  },
  slow.timeout,
);
