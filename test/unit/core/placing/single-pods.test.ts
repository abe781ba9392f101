import { expect, test } from 'vitest';
import { assignDomains, bulkRuleOf } from '../../../../shared/core/placing/together/bulk-groups.ts';
import { placeInBulk } from '../../../../shared/core/placing/together/bulk.ts';
import { offeringsAt } from '../../../../shared/core/placing/state/open-claim.ts';
import { compileInput, workspaceFor } from '../../../../shared/core/placing/state/workspace.ts';
import { input, pods, pool, shape, size, spec } from '../../../kit/core/build.ts';

const zone = 'topology.kubernetes.io/zone';

test.each(['podAffinity', 'podAntiAffinity'])(
  'in which zone a single pod with %s is, is known to those that come later',
  (kind) => {
    const term = { topologyKey: zone, labelSelector: { matchLabels: { app: 'web' } } };
    const affinity = { [kind]: { requiredDuringSchedulingIgnoredDuringExecution: [term] } };
    const given = input({
      types: [size('Standard_D2s_v5', 2, 8, 100_000)],
      nodePools: [pool('a')],
      shapes: [shape(spec('1', '1Gi', { affinity }), { app: 'web' })],
      pods: pods(0, 1),
    });
    const workspace = workspaceFor(compileInput(given, given.cluster.pods));
    const rule = bulkRuleOf(workspace, 0);
    const groups = rule === null ? [] : assignDomains(workspace, [{ rule, pods: given.cluster.pods }]);
    expect(placeInBulk(workspace, groups, { left: 1_000_000 }).left).toEqual([]);
    expect(groups.map(({ within, settles }) => [within, settles])).toEqual([[null, zone]]);
    const zonesLeft = workspace.claims.map((claim) => {
      const offered = offeringsAt(claim, claim.chosen?.type ?? -1);
      return claim.state.pool.catalog.markets.flatMap((market, bit) =>
        ((offered >> bit) & 1) === 1 ? [market.zone] : [],
      );
    });
    expect(zonesLeft).toEqual([['westeurope-1']]);
    expect([...workspace.topology.counters.values()].map(({ byDomain }) => [...byDomain])).toEqual([
      [['westeurope-1', 1]],
    ]);
  },
);
