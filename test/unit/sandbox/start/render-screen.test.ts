import { isHarmless } from '../../../../shared/contract/harmless.ts';
import { describe, expect, test } from 'vitest';
import { paint, widthOf } from '../../../../sandbox/start/ansi.ts';
import { renderScreen, type Screenful } from '../../../../sandbox/start/render-screen.ts';
import type { NodeRow, Sentence } from '../../../../sandbox/start/view.ts';

function node(index: number, changes: Partial<NodeRow> = {}): NodeRow {
  return {
    name: `aks-general-purpose-${String(index).padStart(8, 'x')}`,
    size: 'D8ls_v5',
    zone: '1',
    capacityType: 'on-demand',
    microUsdPerHour: 388_000,
    state: { kind: 'ready' },
    ageMs: 30_000,
    pods: 7,
    cpu: { used: 7_000, of: 7_820 },
    memory: { used: 7, of: 14 },
    ...changes,
  };
}

const news: ReadonlyArray<Sentence> = [
  {
    atMs: 13_000,
    tone: 'plain',
    text: 'Provisioned 2 nodes (D8ls_v5 + D4als_v6) for 10 pods: $0.582/h, at most 5.0 % above the cheapest possible.',
  },
  { atMs: 25_000, tone: 'good', text: 'aks-general-purpose-ge9vzq9m joined 11.7 s after its launch.' },
];

function screenful(nodes: ReadonlyArray<NodeRow>, changes: Partial<Screenful> = {}): Screenful {
  const microUsdPerHour = nodes.reduce((sum, row) => sum + (row.microUsdPerHour ?? 0), 0);
  return {
    view: { nodes, pods: { running: 7, starting: 0, pending: 3 }, waiting: [], shortages: [], microUsdPerHour },
    elapsedMs: 83_000,
    plans: { cost: microUsdPerHour, lowerBound: microUsdPerHour - 10_000 },
    savedMicroUsdPerHour: 0,
    news,
    hints: ['export KUBECONFIG=/tmp/nodewright-abcdef/cluster/kubeconfig', 'Keys: q quit'],
    ...changes,
  };
}

function text(content: Screenful, columns: number, rows: number): ReadonlyArray<string> {
  return renderScreen(content, { columns, rows }).map((line) => paint(line, false));
}

describe('the live screen', () => {
  test.each([
    [80, 24],
    [120, 40],
    [60, 12],
    [40, 10],
    [20, 5],
    [1, 1],
  ])('fills %i columns and %i rows and never more', (columns, rows) => {
    const long = 'team-a: the pod asks for more memory than any size that the pool allows can hold; '.repeat(5);
    const view = { ...screenful([node(1)]).view, waiting: [{ reason: long, pods: ['default/a', 'default/b'] }] };
    for (const count of [0, 1, 3, 200]) {
      const nodes = Array.from({ length: count }, (_, index) => node(index));
      const lines = renderScreen({ ...screenful(nodes), view: { ...view, nodes } }, { columns, rows });
      expect(lines).toHaveLength(rows);
      for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(columns);
    }
  });

  test('shows cost, bound, time, nodes and pods in 80 columns', () => {
    const lines = text(screenful([node(1), node(2, { state: { kind: 'booting' }, pods: 0 })]), 80, 24);
    expect(lines[0]).toBe('Nodewright sandbox  $0.776/h, at most 1.4 % above the cheapest possible     1:23');
    expect(lines[1]).toBe('Nodes 1 ready, 1 coming   Pods 7 running, 3 pending');
    expect(lines[3]).toMatch(/^NODE +SIZE +ZN TYPE +\$\/H CPU +MEMORY +PODS$/);
    expect(lines[4]).toMatch(/^aks-gen…se-xxxxxxx1 D8ls_v5 +1 {2}on-demand +0\.388 ████░ 89% ███░░ 50% +7$/);
    expect(lines[5]).toContain('booting, 30 s');
  });

  test('shows names in full where there is room', () => {
    expect(text(screenful([node(1)]), 120, 24)[4]).toContain('aks-general-purpose-xxxxxxx1 ');
  });

  test('summarises more nodes than fit, those that come or go first', () => {
    const nodes = Array.from({ length: 200 }, (_, index) => node(index));
    const leaving = node(999, { state: { kind: 'leaving', takenBack: true } });
    const lines = text(screenful([...nodes, leaving]), 80, 24);
    expect(lines[4]).toContain('taken back by Azure');
    expect(lines.find((line) => line.startsWith('… and'))).toMatch(/^… and \d+ more nodes$/);
    expect(lines.some((line) => line.includes('Provisioned') || line.includes('joined'))).toBe(true);
  });

  test('breaks a long sentence at a space and keeps its time in front', () => {
    const lines = text(screenful([node(1)]), 80, 24);
    const first = lines.findIndex((line) => line.startsWith(' 0:13  Provisioned'));
    expect(lines[first + 1]).toMatch(/^ {7}\S/);
  });

  test('says nothing of a bound once other nodes run than those of the plans', () => {
    const content = screenful([node(1)], { plans: { cost: 1, lowerBound: 1 } });
    expect(text(content, 80, 24)[0]).not.toContain('cheapest');
  });

  test('tells why pods wait', () => {
    const { view } = screenful([]);
    const waiting = [{ reason: 'no NodePool is there', pods: ['default/a', 'default/b'] }];
    const lines = text({ ...screenful([]), view: { ...view, waiting } }, 80, 24);
    expect(lines).toContain('! 2 pods wait: no NodePool is there');
  });

  test('tells first of all that quota is why they wait', () => {
    const { view } = screenful([]);
    const waiting = [{ reason: 'nothing is available', pods: ['default/a'] }];
    const shortages = [{ name: 'cores', used: 4, limit: 4, pods: 1, suggested: 12, others: 0 }];
    const lines = text({ ...screenful([]), view: { ...view, waiting, shortages } }, 80, 24);
    const first = lines.findIndex((line) => line.startsWith('! '));
    expect(
      lines
        .slice(first, first + 2)
        .join(' ')
        .replaceAll(/\s+/g, ' '),
    ).toBe(
      '! 1 pod waits for quota: 4 of 4 cores of all on-demand VMs together are used. To raise it, start with --quota cores=12 or more.',
    );
    expect(lines[first + 2]).toBe('! 1 pod waits: nothing is available');
  });

  test('lets no control character of a message through', () => {
    const evil: Sentence = { atMs: 0, tone: 'bad', text: 'a\u001B[2Jb\nc\u0007\u202Ed' };
    const lines = text(screenful([], { news: [evil] }), 80, 24);
    expect(lines.filter((line) => !isHarmless(line))).toEqual([]);
    expect(lines.join('\n')).toContain('a\\u{1b}[2Jb c\\u{7}\\u{202e}d');
  });

  test('has colours only where they are wanted', () => {
    const [line = []] = renderScreen(screenful([node(1)]), { columns: 80, rows: 24 });
    expect(paint(line, true)).toContain('\u001B[1m');
    expect(paint(line, false)).not.toContain('\u001B');
  });
});
