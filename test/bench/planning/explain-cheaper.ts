import { catalogsOf } from '../../../cli/catalog/pool-catalogs.ts';
import { readShippedSizes } from '../../../cli/catalog/shipped-sizes.ts';
import type { Snapshot } from '../../../shared/contract/snapshot/parse.ts';
import { placeInBulk } from '../../../shared/core/placing/together/bulk.ts';
import { assignDomains, bulkRuleOf } from '../../../shared/core/placing/together/bulk-groups.ts';
import { cheaperExplainer } from '../../../shared/core/telling/cheaper/explain-cheaper.ts';
import { compileInput, workspaceFor } from '../../../shared/core/placing/state/workspace.ts';
import { input, onDemand, pods, pool, requirement, shape, spec } from '../../kit/core/build.ts';

/**
 * What it takes to say, of each claim, why nothing cheaper was chosen: `node test/bench/planning/explain-cheaper.ts
 * [claims]`, over all sizes of a region. Every claim has one pod of another size, which is the worst case: no two
 * claims are alike.
 */
const [claims = 1_000] = process.argv.slice(2).map(Number);
const nodePools = [pool('a', { requirements: [onDemand] }), pool('b', { requirements: [requirement('x', 'Exists')] })];
const anti = { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [] } };
const shapes = Array.from({ length: claims }, (_, index) =>
  shape(spec(`${1_000 + 10 * index}m`, `${1_024 + 7 * index}Mi`, { affinity: anti })),
);
const bare = input({ nodePools, shapes, pods: shapes.flatMap((_, index) => pods(index, 1)) });
const { catalog } = catalogsOf(readShippedSizes('westeurope'), {
  ...bare.cluster,
  nodeClasses: [],
} as unknown as Snapshot);
const workspace = workspaceFor(compileInput({ ...bare, catalog }, bare.cluster.pods));
for (const [index, own] of Map.groupBy(bare.cluster.pods, ({ shape: one }) => one)) {
  const rule = bulkRuleOf(workspace, index);
  if (rule !== null) placeInBulk(workspace, assignDomains(workspace, [{ rule, pods: own }]), { left: 1 });
}
for (let run = 0; run < 3; run++) {
  const explain = cheaperExplainer(workspace);
  const started = performance.now();
  const groups = workspace.claims.map(explain);
  const tookMs = performance.now() - started;
  const bytes = JSON.stringify(groups).length;
  process.stdout.write(
    `${workspace.claims.length} claims, no two alike, ${catalog.get('a')?.length} sizes: ${tookMs.toFixed(0)} ms, ` +
      `${groups.flat().length} groups, ${(bytes / 1024).toFixed(0)} KiB\n`,
  );
}
