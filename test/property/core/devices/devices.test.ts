import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { allocate } from '../../../../shared/core/devices/allocate.ts';
import { compileClaim, type ClaimTerms } from '../../../../shared/core/devices/claims.ts';
import { poolsOf, type DevicePool } from '../../../../shared/core/devices/devices.ts';
import { createMatcher } from '../../../../shared/core/devices/selectors.ts';
import type { CompileSelector } from '../../../../shared/core/model/device-selector.ts';
import { unused } from '../../../../shared/core/devices/use.ts';
import type {
  ExactDeviceRequest,
  PublishedDevice,
  ResourceClaimSpec,
} from '../../../../shared/kubernetes/device-manifest.ts';
import { checkAllocated, shareOf } from '../../../../shared/core/audit/devices/device-claim-checks.ts';
import { checkUses, type DeviceUses } from '../../../../shared/core/audit/devices/device-uses.ts';
import { devicesInCluster, type AuditedDevice } from '../../../../shared/core/audit/devices/published-devices.ts';
import type { ProvisioningInput } from '../../../../shared/core/model/provisioning-input.ts';
import { input } from '../../../kit/core/build.ts';
import { driver, sharedSlice } from '../../../kit/core/build-devices.ts';
import { drawsOf } from '../../../setup/draws.ts';

/** Exhaustive search is many choices: a second here, more where the machine is busy. */
const slow = { timeout: 120_000 };

/** `even`, `odd` or `any` by the device's index: selectors without CEL, so that the law is about the search. */
const compile: CompileSelector =
  (expression) =>
  ({ device }) =>
    expression === 'any' || ((device.attributes?.['index']?.int ?? 0) % 2 === 0) === (expression === 'even');

/** At most 5 devices of few kinds, so that equals and near equals are common. */
const devices: fc.Arbitrary<ReadonlyArray<PublishedDevice>> = fc
  .array(
    fc.record({
      index: fc.integer({ min: 0, max: 3 }),
      numa: fc.constantFrom(0, 1, null),
      shareable: fc.constantFrom(false, false, true),
      memory: fc.constantFrom(null, 2, 4),
      part: fc.constantFrom(0, 0, 1, 3),
      tainted: fc.constantFrom(false, false, false, true),
    }),
    { maxLength: 5 },
  )
  .map((drawn) =>
    drawn.map(({ index, numa, shareable, memory, part, tainted }, place) => ({
      name: `d${place}`,
      attributes: { index: { int: index }, ...(numa === null ? {} : { numa: { int: numa } }) },
      ...(memory === null ? {} : { capacity: { memory: { value: memory } } }),
      ...(part === 0 ? {} : { consumesCounters: [{ counterSet: 'card', counters: { parts: { value: part } } }] }),
      ...(tainted ? { taints: [{ key: 'sick', effect: 'NoSchedule' }] } : {}),
      allowMultipleAllocations: shareable,
    })),
  );

const asked = fc
  .record({
    selector: fc.constantFrom('any', 'any', 'even', 'odd'),
    count: fc.constantFrom(1, 1, 2),
    all: fc.constantFrom(false, false, false, true),
    memory: fc.constantFrom(null, null, 1, 3),
    tolerant: fc.boolean(),
  })
  .map(({ selector, count, all, memory, tolerant }) => ({
    deviceClassName: 'c',
    selectors: [{ cel: { expression: selector } }],
    ...(all ? { allocationMode: 'All' } : { count }),
    ...(memory === null ? {} : { capacity: { requests: { memory } } }),
    ...(tolerant ? { tolerations: [{ operator: 'Exists' }] } : {}),
  }));

const claims: fc.Arbitrary<ReadonlyArray<ResourceClaimSpec>> = fc.array(
  fc
    .record({
      requests: fc.array(fc.array(asked, { minLength: 1, maxLength: 2 }), { minLength: 1, maxLength: 2 }),
      constraint: fc.constantFrom('none', 'none', 'matchAttribute', 'distinctAttribute'),
      scoped: fc.boolean(),
    })
    .map(({ requests, constraint, scoped }) => ({
      devices: {
        requests: requests.map((alternatives, index) => {
          const [first] = alternatives;
          return alternatives.length === 1 && first !== undefined
            ? { name: `r${index}`, exactly: first }
            : { name: `r${index}`, firstAvailable: alternatives.map((one, at) => ({ name: `a${at}`, ...one })) };
        }),
        constraints:
          constraint === 'none' ? [] : [{ [constraint]: `${driver}/numa`, ...(scoped ? { requests: ['r0'] } : {}) }],
      },
    })),
  { minLength: 1, maxLength: 2 },
);

interface Case {
  readonly given: ProvisioningInput;
  readonly specs: ReadonlyArray<ResourceClaimSpec>;
  readonly terms: ReadonlyArray<ClaimTerms>;
  readonly pools: ReadonlyArray<DevicePool>;
}

const cases: fc.Arbitrary<Case> = fc.record({ devices, claims }).map(({ devices: published, claims: specs }) => {
  const sharedCounters = [{ name: 'card', counters: { parts: { value: 4 } } }];
  const resourceSlices = [sharedSlice('pool', published, { allNodes: true, sharedCounters })];
  const given = input({
    resourceSlices,
    deviceClasses: [{ metadata: { name: 'c' } }],
    devices: { kind: 'planned', compile, templates: new Map() },
  });
  const classes = new Map(given.cluster.deviceClasses.map((one) => [one.metadata.name, one]));
  const terms = specs.flatMap((spec) => {
    const compiled = compileClaim(spec, { classes, compile });
    return compiled.kind === 'terms' ? [compiled.terms] : [];
  });
  return { given, specs, terms, pools: poolsOf(resourceSlices) };
});

type Choice = ReadonlyArray<{ readonly claim: number; readonly request: string; readonly device: AuditedDevice }>;

function takes(expression: string, { driver: by, published }: AuditedDevice): boolean {
  const predicate = compile(expression);
  return typeof predicate === 'function' && predicate({ driver: by, device: published }) === true;
}

function exactOf(spec: ResourceClaimSpec | undefined, request: string): ExactDeviceRequest {
  const [name, alternative] = request.split('/');
  const found = spec?.devices?.requests?.find((one) => one.name === name);
  return found?.exactly ?? found?.firstAvailable?.find((one) => one.name === alternative) ?? {};
}

/** Nothing is in use before, so that every device which has such a share has room for it. */
function countOfAll(exact: ExactDeviceRequest, all: ReadonlyArray<AuditedDevice>): number {
  const selects = (one: AuditedDevice): boolean =>
    (exact.selectors ?? []).every(({ cel }) => takes(cel?.expression ?? '', one));
  return all.filter((one) => shareOf(one, exact) !== null && selects(one)).length;
}

/** Is the choice allowed? By the rules of the audit, which share no code with the allocator. */
function isAllowed({ given, specs }: Case, choice: Choice): boolean {
  const all = [...devicesInCluster(given).values()];
  const uses: DeviceUses = new Map();
  for (const { claim, request, device } of choice) {
    const exact = exactOf(specs[claim], request);
    const share = device.published.allowMultipleAllocations === true ? shareOf(device, exact) : null;
    const use = uses.get(device.id) ?? { device, isPlanned: true, holders: new Map() };
    uses.set(device.id, use);
    use.holders.set(`${claim} ${request}`, share);
    const own = choice.filter((other) => other.claim === claim && other.request === request);
    if (exact.allocationMode === 'All' && own.length < countOfAll(exact, all)) return false;
  }
  return (
    checkUses(uses).length === 0 &&
    specs.every(
      (spec, claim) =>
        checkAllocated(
          spec,
          choice.filter((one) => one.claim === claim),
          all,
          given,
        ).length === 0,
    )
  );
}

/** Tries every set of devices for every alternative of every request. */
function existsChoice(one: Case): boolean {
  const all = [...devicesInCluster(one.given).values()];
  const slots = one.specs.flatMap((spec, claim) =>
    (spec.devices?.requests ?? []).map(({ name, firstAvailable }) => ({
      claim,
      names: firstAvailable === undefined ? [name] : firstAvailable.map((alternative) => `${name}/${alternative.name}`),
    })),
  );
  const search = (index: number, choice: Choice): boolean => {
    const slot = slots[index];
    if (slot === undefined) return isAllowed(one, choice);
    return slot.names.some((request) => {
      for (let set = 1; set < 1 << all.length; set++) {
        const taken = all.filter((_, at) => (set >> at) & 1);
        const more = taken.map((device) => ({ claim: slot.claim, request, device }));
        if (search(index + 1, [...choice, ...more])) return true;
      }
      return false;
    });
  };
  return search(0, []);
}

/** At most so many sets of devices are tried for one case. */
const SETS_MAX = 40_000;

function isSmall({ given, specs }: Case): boolean {
  const sets = 2 ** (given.cluster.resourceSlices[0]?.spec.devices?.length ?? 0);
  const requests = specs.flatMap(({ devices: asks }) => asks?.requests ?? []);
  return requests.reduce((all, one) => all * sets * (one.firstAvailable?.length ?? 1), 1) <= SETS_MAX;
}

test(
  'devices are found exactly when some choice of devices is allowed, and what is found is allowed',
  () => {
    let found = 0;
    let none = 0;
    fc.assert(
      fc.property(cases.filter(isSmall), (one) => {
        const outcome = allocate(one.terms, { pools: one.pools, use: unused() }, createMatcher(compile));
        if (outcome.kind === 'allocated') {
          found++;
          const known = devicesInCluster(one.given);
          const choice = outcome.claims.flatMap((held, claim) =>
            held.flatMap(({ request, device }) => {
              const audited = known.get(device.id);
              return audited === undefined ? [] : [{ claim, request, device: audited }];
            }),
          );
          expect(isAllowed(one, choice)).toBe(true);
        } else {
          none++;
          expect(outcome.kind).toBe('unsatisfiable');
          expect(existsChoice(one)).toBe(false);
        }
      }),
      // Devices are found in a fifth of the cases.
      { numRuns: drawsOf(120, 80) },
    );
    // A law over cases of one outcome only would say little.
    expect(Math.min(found, none)).toBeGreaterThan(1);
  },
  slow.timeout,
);
