import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type * as Core from '../../../../shared/kubernetes/manifest.ts';
import {
  closedLabelDomains,
  refusedLabels,
  restrictionOf,
  wellKnownLabels,
  wellKnownValues,
} from '../../../../shared/kubernetes/pool-labels.ts';
import { nodePoolKind } from '../../../../shared/contract/api/kinds/node-pool.ts';
import { inspect, kindOf, kinds } from '../../../../shared/contract/api/parse.ts';
import { buffer, claim, nodeClass, overlay, pool, poolOf } from '../../../contract/crds/cases/case.ts';
import {
  ApiValidationError,
  parseAksNodeClass,
  parseCapacityBuffer,
  parseNodeClaim,
  parseNodeOverlay,
  parseNodePool,
} from './parse-objects.ts';

function problemsOf(parse: () => unknown): ApiValidationError {
  try {
    parse();
  } catch (error) {
    if (error instanceof ApiValidationError) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
}

describe('parsing', () => {
  it('fills in the defaults of a pool', () => {
    expect(parseNodePool(pool()).spec).toEqual({
      template: { spec: { ...(claim().spec as object), expireAfter: '720h' } },
      disruption: {
        consolidateAfter: '0s',
        consolidationPolicy: 'WhenEmptyOrUnderutilized',
        budgets: [{ nodes: '10%' }],
      },
    });
  });

  it('fills in the defaults of a class', () => {
    expect(parseAksNodeClass(nodeClass({ kubelet: {}, gpu: {} })).spec).toEqual({
      osDiskSizeGB: 128,
      imageFamily: 'Ubuntu',
      kubelet: {
        cpuManagerPolicy: 'none',
        cpuCFSQuota: true,
        cpuCFSQuotaPeriod: '100ms',
        topologyManagerPolicy: 'none',
        containerLogMaxSize: '50Mi',
        containerLogMaxFiles: 5,
      },
      gpu: { mode: 'Driver' },
    });
  });

  it('leaves the given object as it was', () => {
    const given = Object.freeze(pool({ disruption: Object.freeze({ consolidateAfter: '5m' }) }));
    const before = JSON.stringify(given);
    parseNodePool(given);
    expect(JSON.stringify(given)).toBe(before);
  });

  it('gives what the core reads', () => {
    const read: readonly [Core.NodePool, Core.NodeClaim, Core.NodeOverlay] = [
      parseNodePool(pool()),
      parseNodeClaim(claim()),
      parseNodeOverlay(overlay()),
    ];
    expect(read.map(({ metadata }) => metadata.name)).toEqual(['general', 'general-abcde', 'discount']);
  });

  it('keeps status and metadata', () => {
    const parsed = parseNodeClaim({ ...claim(), metadata: { name: 'a', uid: 'u' }, status: { nodeName: 'n' } });
    expect(parsed).toMatchObject({ metadata: { name: 'a', uid: 'u' }, status: { nodeName: 'n' } });
  });

  it('knows every kind by its apiVersion, the old one of classes too', () => {
    for (const object of [pool(), claim(), overlay(), buffer({}), nodeClass()]) {
      expect(kindOf(object)?.kind).toBe(object.kind);
    }
    expect(kindOf({ ...nodeClass(), apiVersion: 'karpenter.azure.com/v1alpha2' })?.kind).toBe('AKSNodeClass');
    expect(kindOf({ apiVersion: 'v1', kind: 'Pod' })).toBeNull();
    expect(kindOf(null)).toBeNull();
  });
});

describe('judging', () => {
  it('names every wrong field and what to do about it', () => {
    const wrong = pool({ weight: 0, disruption: { consolidateAfter: '1d' } });
    const error = problemsOf(() => parseNodePool(wrong));
    expect(error.problems.map(({ path }) => path)).toEqual(['spec.weight', 'spec.disruption.consolidateAfter']);
    expect(error.message).toContain('write a duration such as 30s, 5m or 1h30m, or Never');
    expect(error).toMatchObject({ kind: 'NodePool', objectName: 'general' });
  });

  it('throws what it is for whatever else it is given', () => {
    for (const parse of [parseNodePool, parseNodeClaim, parseNodeOverlay, parseCapacityBuffer, parseAksNodeClass]) {
      for (const value of [null, undefined, 1, 'x', [], {}]) {
        expect(problemsOf(() => parse(value)).problems.length).toBeGreaterThan(0);
      }
    }
  });

  it('never throws while it judges', () => {
    const keys = fc.constantFrom('spec', 'template', 'requirements', 'taints', 'values', 'labels', '__proto__', 'key');
    const value = fc.letrec((tie) => ({
      tree: fc.oneof(
        { depthSize: 'small' },
        fc.jsonValue(),
        fc.array(tie('tree'), { maxLength: 3 }),
        fc.dictionary(keys, tie('tree'), { maxKeys: 4 }),
      ),
    })).tree;
    fc.assert(
      fc.property(fc.constantFrom(...kinds), value, (kind, spec) => {
        const object = { apiVersion: `${kind.group}/${kind.versions[0].name}`, kind: kind.kind, metadata: {}, spec };
        expect(inspect(kind, object).problems.length).toBeGreaterThan(0);
      }),
    );
  });

  it('gives the same object when it parses its own answer', () => {
    for (const each of [pool({ weight: 3 }), poolOf({ expireAfter: 'Never' })]) {
      const once = parseNodePool(each);
      expect(parseNodePool(once)).toEqual(once);
    }
  });

  it('lists the fields that a strict client would refuse', () => {
    const [nodePool] = kinds;
    const given = { ...pool({ weigth: 5 }), extra: 1 };
    expect(nodePool === undefined ? [] : inspect(nodePool, given).unknownFields).toEqual([
      'extra',
      'spec.weigth (did you mean weight?)',
    ]);
  });
});

it('tells the new place of a field that has moved', () => {
  const template = { spec: { kubelet: { maxPods: 30 } } };
  const { unknownFields } = inspect(
    nodePoolKind,
    pool({ template, disruption: { consolidateAfter: '1m', expireAfter: '24h' } }),
  );
  expect(unknownFields.toSorted()).toEqual([
    'spec.disruption.expireAfter (write it as spec.template.spec.expireAfter)',
    'spec.template.spec.kubelet (write it as spec.kubelet of the AKSNodeClass)',
  ]);
});

describe('the tables of labels', () => {
  it('allow no well-known key to be refused', () => {
    for (const key of wellKnownLabels) {
      expect(restrictionOf(key)).toBeNull();
      expect(refusedLabels).not.toContain(key);
    }
  });

  it('know values of well-known keys only', () => {
    for (const key of wellKnownValues.keys()) expect(wellKnownLabels).toContain(key);
  });

  it('close domains for all but their own keys', () => {
    for (const { domain, allowed } of closedLabelDomains) {
      for (const key of allowed) expect(key.startsWith(`${domain}/`)).toBe(true);
    }
  });
});
