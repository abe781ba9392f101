import { readFileSync, readdirSync } from 'node:fs';
import { join, relative } from 'node:path';
import { Readable } from 'node:stream';
import { DEFAULT_REGION } from '../../cli/catalog/shipped-sizes.ts';
import type { PlanDocument } from '../../cli/documents/plan-format.ts';
import { planFromFiles } from '../../cli/plan/plan-from-files.ts';
import { WrongInputError } from '../../cli/wrong-input.ts';

/**
 * What the product makes of manifests that others wrote: `node test/bench/strangers.ts FOLDER [region]` reads, admits
 * and plans each file of the folder by itself, as `nodewright plan` does; beside a pool of all amd64 sizes where it has
 * no NodePool, and with three small pods that spread over zones where it has a pool and no pods. Prints a line for each
 * file, and how many came to which end.
 */
const [folder, region = DEFAULT_REGION] = process.argv.slice(2);
if (folder === undefined) throw new Error('Name a folder of manifests: node test/bench/strangers.ts FOLDER [region]');

/** How a file ended, worst last. */
const verdicts = ['planned', 'no pods', 'left', 'refused', 'internal error', 'crash'] as const;

interface Ending {
  readonly verdict: (typeof verdicts)[number];
  /** Once each: kinds of reasons, fields, rules or the error. */
  readonly details: ReadonlyArray<string>;
  readonly placed: number;
  readonly left: number;
  readonly dollarsPerHour: number;
}

const NOTHING = { placed: 0, left: 0, dollarsPerHour: 0 };

const ANY_AMD64 = JSON.stringify({
  apiVersion: 'karpenter.sh/v1',
  kind: 'NodePool',
  metadata: { name: 'any-amd64' },
  spec: {
    template: {
      spec: {
        nodeClassRef: { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' },
        requirements: [
          { key: 'kubernetes.io/arch', operator: 'In', values: ['amd64'] },
          { key: 'karpenter.sh/capacity-type', operator: 'In', values: ['on-demand'] },
        ],
      },
    },
    disruption: { consolidateAfter: '30s' },
  },
});

const SMALL_PODS = JSON.stringify({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'small' },
  spec: {
    replicas: 3,
    selector: { matchLabels: { app: 'small' } },
    template: {
      metadata: { labels: { app: 'small' } },
      spec: {
        containers: [{ name: 'small', image: 'small', resources: { requests: { cpu: '500m', memory: '1Gi' } } }],
        tolerations: [{ operator: 'Exists' }],
        topologySpreadConstraints: [
          {
            maxSkew: 1,
            topologyKey: 'topology.kubernetes.io/zone',
            whenUnsatisfiable: 'ScheduleAnyway',
            labelSelector: { matchLabels: { app: 'small' } },
          },
        ],
      },
    },
  },
});

async function endingOf(file: string): Promise<Ending> {
  // As far in as an item of a list has its kind; a definition names it further in.
  const hasPool = /^ {0,2}(- )?"?kind"?: *["']?NodePool\b/m.test(readFileSync(file, 'utf8'));
  const ending = await planned(file, hasPool ? null : ANY_AMD64);
  return hasPool && ending.verdict === 'no pods' ? planned(file, SMALL_PODS) : ending;
}

async function planned(file: string, beside: string | null): Promise<Ending> {
  const paths = beside === null ? [file] : [file, '-'];
  try {
    const outcome = await planFromFiles(
      { kind: 'plan', paths, catalog: null, region, budgetMs: null, strict: false, output: 'json' },
      Readable.from([beside ?? '']),
    );
    if (outcome.exitCode === 3) return { ...NOTHING, verdict: 'internal error', details: rulesIn(outcome.errors) };
    return toEnding(JSON.parse(outcome.text) as PlanDocument);
  } catch (error) {
    if (error instanceof WrongInputError) return { ...NOTHING, verdict: 'refused', details: fieldsIn(error) };
    const told = error instanceof Error ? (error.stack ?? error.message) : String(error);
    return { ...NOTHING, verdict: 'crash', details: [told.split('\n').slice(0, 3).join(' ')] };
  }
}

function toEnding({ summary: { pods, costPerHour }, left }: PlanDocument): Ending {
  const placed = pods.placed + pods.nominated;
  const details = [...new Set(left.flatMap(({ reasons }) => reasons.map(({ kind }) => kind)))].toSorted();
  const verdict = pods.left > 0 ? 'left' : placed === 0 ? 'no pods' : 'planned';
  return { verdict, details, placed, left: pods.left, dollarsPerHour: Number(costPerHour) };
}

function rulesIn(errors: ReadonlyArray<string>): ReadonlyArray<string> {
  return [...new Set(errors.flatMap((text) => /broke the rule ([\w-]+)/.exec(text)?.[1] ?? []))];
}

/** Kind and field, whatever the name and the place in a list. */
function fieldsIn({ problems }: WrongInputError): ReadonlyArray<string> {
  const fields = problems.map(({ object, path, message }) => {
    const field = path.replaceAll(/\[[^\]]*\]/g, '[]');
    return [object.split(' ')[0], field === '' ? message : field].filter((part) => part !== '').join(' ');
  });
  return [...new Set(fields)];
}

const files = readdirSync(folder, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && /\.(ya?ml|json)$/.test(entry.name))
  .map((entry) => join(entry.parentPath, entry.name))
  .toSorted();

const endings: Array<Ending> = [];
let slowest = { ms: 0, name: '' };
const started = performance.now();
for (const file of files) {
  const before = performance.now();
  const ending = await endingOf(file);
  const [ms, name] = [performance.now() - before, relative(folder, file)];
  if (ms > slowest.ms) slowest = { ms, name };
  endings.push(ending);
  const { verdict, details, placed, left, dollarsPerHour } = ending;
  const counts = placed + left === 0 ? '' : `, ${placed} placed, ${left} left, $${dollarsPerHour.toFixed(4)}/h`;
  process.stdout.write(`${verdict}: ${name}${counts}${details.length === 0 ? '' : `: ${details.join('; ')}`}\n`);
}
const sumOf = (of: (ending: Ending) => number): number => endings.reduce((sum, ending) => sum + of(ending), 0);
process.stdout.write(`\n${files.length} files in ${((performance.now() - started) / 1000).toFixed(1)} s`);
process.stdout.write(
  `, the slowest ${slowest.name} in ${slowest.ms.toFixed(0)} ms; ${sumOf((one) => one.placed)} pods placed`,
);
process.stdout.write(` for $${sumOf((one) => one.dollarsPerHour).toFixed(4)}/h, ${sumOf((one) => one.left)} left\n`);
for (const verdict of verdicts) {
  const own = endings.filter((one) => one.verdict === verdict);
  process.stdout.write(`${String(own.length).padStart(6)} ${verdict}\n`);
  const detailed = Map.groupBy(
    own.flatMap(({ details }) => details),
    (detail) => detail,
  );
  const most = [...detailed].toSorted(([a, one], [b, other]) => other.length - one.length || (a < b ? -1 : 1));
  for (const [detail, { length }] of most) process.stdout.write(`${String(length).padStart(12)} ${detail}\n`);
}
