import { describe, expect, test } from 'vitest';
import { list, read, recordedMetrics } from './recorded.ts';
import { type WorkbookItem, queryPanels, workbook, workbookText } from './workbook.ts';

/** What is wrong with the workbook's items. */
function workbookFaults(items: ReadonlyArray<WorkbookItem>): ReadonlyArray<string> {
  const names = items.map(({ name }) => name);
  const parameters = items.flatMap(({ content }) => content.parameters ?? []);
  const given = new Set(parameters.map(({ name }) => name));
  const ids = parameters.map(({ id }) => id);
  const used = [...JSON.stringify(items).matchAll(/(?<!\{)\{([A-Z]\w*)(?::\w+)?\}/g)].map(([, name = '']) => name);
  return [
    ...names.filter((name, index) => names.indexOf(name) !== index).map((name) => `there are two ${name}`),
    ...ids.filter((id, index) => ids.indexOf(id) !== index).map((id) => `two parameters have the id ${id}`),
    ...used.filter((name) => !given.has(name)).map((name) => `there is no parameter ${name}`),
    ...items.flatMap((item) => itemFaults(item).map((fault) => `${item.name} ${fault}`)),
  ];
}

const visualizations = new Set(['table', 'timechart', 'barchart', 'areachart']);
/** Units are in titles: charts of workbooks have one format for all of their series. */
const UNIT =
  /\((?:[\w ]+, )*(?:pods|nodes|cores|percent|seconds|milliseconds|count|messages|text|\{\{currency\}\} per hour)(?:, [\w ]+)*\)$/;

function itemFaults({ type, content }: WorkbookItem): ReadonlyArray<string> {
  if (type === 1) return content.json === undefined ? ['says nothing'] : [];
  if (type === 9) return [];
  return [
    ...(UNIT.test(content.title ?? '') ? [] : ['has no unit']),
    ...(content.timeContextFromParameter === 'TimeRange' ? [] : ['has a time of its own']),
    ...(type === 10 ? metricFaults(content) : queryPanelFaults(content)),
  ];
}

function metricFaults({ metrics = [], resourceIds }: WorkbookItem['content']): ReadonlyArray<string> {
  const names = metrics.map(({ metric }) => metric.split('--')[1] ?? '');
  const known = new Set(['DeadletteredMessages', 'ActiveMessages']);
  const isSound = names.length > 0 && names.every((name) => known.has(name));
  return isSound && resourceIds?.[0] === '{ServiceBus}' ? [] : ['has no metric'];
}

function queryPanelFaults(content: WorkbookItem['content']): ReadonlyArray<string> {
  return [
    ...((content.query ?? '') === '' ? ['has no query'] : []),
    ...(visualizations.has(content.visualization ?? '') ? [] : ['is shown as nothing']),
    ...(content.crossComponentResources?.[0] === '{Workspace}' ? [] : ['asks no workspace']),
  ];
}

describe('the workbook', () => {
  test('has names of its own for all items, and each panel a query or metric and a unit', () => {
    expect(workbook.version).toBe('Notebook/1.0');
    expect(workbookFaults(workbook.items)).toEqual([]);
  });

  test('leaves open what the module fills in', () => {
    const module = read('infra/modules/portal.bicep');
    const open = new Set([...workbookText.matchAll(/\{\{(\w+)\}\}/g)].map(([, name = '']) => name));
    const filled = new Set([...module.matchAll(/'\{\{(\w+)\}\}'/g)].map(([, name = '']) => name));
    expect(open).toEqual(filled);
  });

  test('breaks in ways that are noticed', () => {
    const [first, second] = queryPanels;
    if (first === undefined || second === undefined) throw new Error('there are no panels');
    const broken = (content: Partial<WorkbookItem['content']>): ReadonlyArray<string> =>
      workbookFaults(
        workbook.items.map((one) => (one === first ? { ...one, content: { ...one.content, ...content } } : one)),
      );
    expect(broken({ query: '' })).toEqual([`${first.name} has no query`]);
    expect(broken({ title: 'Nodes' })).toEqual([`${first.name} has no unit`]);
    expect(broken({ crossComponentResources: ['{Workspaces}'] })).toHaveLength(2);
    expect(workbookFaults([...workbook.items, second])).toEqual([`there are two ${second.name}`]);
  });
});

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly gridPos: { readonly h: number; readonly w: number; readonly x: number; readonly y: number };
  readonly datasource?: { readonly type: string; readonly uid: string };
  readonly fieldConfig?: { readonly defaults: { readonly unit?: string } };
  readonly targets?: ReadonlyArray<{ readonly refId: string; readonly expr: string; readonly legendFormat: string }>;
}
interface Dashboard {
  readonly uid: string;
  readonly title: string;
  readonly schemaVersion: number;
  readonly panels: ReadonlyArray<Panel>;
  readonly templating: { readonly list: ReadonlyArray<{ readonly name: string; readonly type: string }> };
}

const dashboards = list('infra/grafana', '.json').map((path) => ({
  path,
  dashboard: JSON.parse(read(path)) as Dashboard,
}));

/** Counters that a relay shows once something has gone wrong, so that no recording has them; and their label. */
const inTrouble: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ['nodewright_relay_hint_failures_total', new Set(['queue'])],
  ['nodewright_relay_feed_failures_total', new Set(['resource'])],
  ['nodewright_relay_malformed_total', new Set(['resource'])],
]);
/** Gauges that are there only while a pod is undecided. */
const whileUndecided: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ['karpenter_scheduler_unfinished_work_seconds', new Set(['controller'])],
  ['karpenter_pods_provisioning_scheduling_undecided_time_seconds', new Set(['name', 'namespace'])],
]);
/** Counters of disruption that are shown once it has not gone well. */
const whereItFailed: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ['karpenter_voluntary_disruption_failed_validations_total', new Set(['consolidation_type'])],
  ['karpenter_voluntary_disruption_queue_failures_total', new Set(['decision', 'reason', 'consolidation_type'])],
]);
const metrics = new Map([...recordedMetrics, ...inTrouble, ...whileUndecided, ...whereItFailed]);

const METRIC = /\b((?:karpenter|nodewright|process)_\w+)(?:\{([^}]*)\})?/g;
const LABEL = /(\w+)\s*(?:=~|!~|!=|=)\s*"/g;
/** Labels that Prometheus itself gives. */
const ofScrape = ['instance', 'job', 'pod'];
const units = new Set(['short', 's', 'bytes', 'ops', 'percentunit']);

function dashboardFaults({ panels, templating }: Dashboard): ReadonlyArray<string> {
  const ids = panels.map(({ id }) => id);
  const variables = new Set(templating.list.map(({ name }) => name));
  return [
    ...ids.filter((id, index) => ids.indexOf(id) !== index).map((id) => `two panels have the id ${id}`),
    ...panels.flatMap((one, index) =>
      panels.slice(0, index).flatMap((other) => (overlap(one, other) ? [`${one.title} lies on ${other.title}`] : [])),
    ),
    ...panels
      .filter(({ type }) => type !== 'row')
      .flatMap((panel) => panelFaults(panel, variables).map((fault) => `${panel.title}: ${fault}`)),
  ];
}

function overlap({ gridPos: a }: Panel, { gridPos: b }: Panel): boolean {
  return a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;
}

function panelFaults(
  { datasource, fieldConfig, targets = [] }: Panel,
  variables: ReadonlySet<string>,
): ReadonlyArray<string> {
  return [
    ...(datasource?.uid === '${datasource}' && variables.has('datasource') ? [] : ['no data source']),
    ...(units.has(fieldConfig?.defaults.unit ?? '') ? [] : ['no unit']),
    ...(targets.length === 0 ? ['no query'] : []),
    ...targets.flatMap(({ expr, legendFormat }) => expressionFaults(expr, legendFormat, variables)),
  ];
}

function expressionFaults(expr: string, legend: string, variables: ReadonlySet<string>): ReadonlyArray<string> {
  const named = [...expr.matchAll(METRIC)].map(([, name = '', rules = '']) => ({ name, rules }));
  const labels = new Set([...named.flatMap(({ name }) => [...(metrics.get(name) ?? [])]), ...ofScrape]);
  const grouped = [...expr.matchAll(/\b(?:by|on) \(([^)]*)\)/g)].flatMap(([, names = '']) => names.split(', '));
  const shown = [...legend.matchAll(/\{\{(\w+)\}\}/g)].map(([, label = '']) => label);
  const used = [...expr.matchAll(/\$(\w+)/g)].map(([, name = '']) => name).filter((name) => !name.startsWith('__'));
  const count = (sign: string): number => expr.split(sign).length;
  return [
    ...(named.length === 0 ? ['no metric'] : []),
    ...named.filter(({ name }) => !metrics.has(name)).map(({ name }) => `${name} is not exposed`),
    ...named.flatMap(({ name, rules }) =>
      [...rules.matchAll(LABEL)]
        .filter(([, label = '']) => metrics.get(name)?.has(label) !== true)
        .map(([, label = '']) => `${name} has no label ${label}`),
    ),
    ...[...grouped, ...shown].filter((label) => !labels.has(label)).map((label) => `there is no label ${label}`),
    ...used.filter((name) => !variables.has(name)).map((name) => `there is no variable ${name}`),
    ...['()', '{}', '[]'].filter(([a = '', b = '']) => count(a) !== count(b)).map((pair) => `${pair} are not in pairs`),
  ];
}

describe('the dashboards', () => {
  test('are four, each with an id of its own', () => {
    expect(new Set(dashboards.map(({ dashboard }) => dashboard.uid)).size).toBe(4);
  });

  test.each(dashboards)('ask for what the relay exposes, with a unit for each panel: $path', ({ dashboard }) => {
    expect(dashboardFaults(dashboard)).toEqual([]);
  });

  test('together show every metric of Karpenter’s and ours that the relay exposes', () => {
    const text = dashboards.map(({ path }) => read(path)).join('\n');
    const families = [...metrics.keys()].filter((name) => !/_(?:sum|count)$/.test(name));
    expect(families.filter((name) => !new RegExp(`\\b${name}\\b`).test(text))).toEqual([]);
  });

  test('know what is exposed in trouble only from the code, or by its name alone', () => {
    const relay = list('relay', '.ts')
      .map((path) => read(path))
      .join('\n');
    for (const name of inTrouble.keys()) expect(relay).toContain(`'${name.replace('nodewright_relay_', '')}'`);
    for (const name of whileUndecided.keys()) expect(relay).toContain(`'${name}'`);
    const page = read('test/unit/infra/portal/recorded/relay-metrics.txt');
    for (const name of whereItFailed.keys()) expect(page).toContain(`# TYPE ${name} counter\n`);
  });

  test('break in ways that are noticed', () => {
    const [{ dashboard } = { dashboard: null }] = dashboards;
    if (dashboard === null) throw new Error('there is no dashboard');
    const at = dashboard.panels.findIndex(({ type }) => type === 'timeseries');
    const broken = (change: (panel: Panel) => object): ReadonlyArray<string> =>
      dashboardFaults({
        ...dashboard,
        panels: dashboard.panels.map((panel, index) => (index === at ? { ...panel, ...change(panel) } : panel)),
      });
    const asking = (edit: (expr: string) => string) =>
      broken(({ targets = [] }) => ({ targets: targets.map((one) => ({ ...one, expr: edit(one.expr) })) }));
    expect(broken(() => ({ fieldConfig: { defaults: {} } }))).toHaveLength(1);
    expect(broken(() => ({ targets: [] }))).toHaveLength(1);
    expect(broken(() => ({ id: 1 }))).toHaveLength(1);
    expect(asking((expr) => expr.replaceAll('karpenter_nodepools', 'karpenter_nodepool'))).not.toEqual([]);
    expect(asking((expr) => expr.replaceAll('resource_type', 'resource'))).not.toEqual([]);
    expect(asking((expr) => expr.replaceAll('$nodepool', '$pool'))).not.toEqual([]);
    expect(asking((expr) => `${expr})`)).not.toEqual([]);
  });
});
