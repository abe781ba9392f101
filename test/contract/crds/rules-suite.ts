import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { inspect, kinds } from '../../../shared/contract/api/parse.ts';
import { connect, type Connection } from '../../../sandbox/kubernetes/client/connection.ts';
import type { Case } from './cases/case.ts';
import { cases } from './cases/cases.ts';
import { applyCrds, gatherVerdicts, type Verdict } from './verdicts.ts';

/** A running API server of any making. */
export interface ApiServerUnderTest {
  readonly kubeconfig: string;
  close(): Promise<void>;
}

/** The object as our parser would store it. */
function specByParser({ object }: Case): unknown {
  const definition = kinds.find(({ kind }) => kind === object.kind);
  if (definition === undefined) throw new Error(`no kind ${object.kind}`);
  return inspect(definition, JSON.parse(JSON.stringify(object))).object['spec'];
}

/**
 * Asserts that an API server and the parsers agree about every row, and about what is stored. Rows named in `beyond`
 * are more than this server does, and skipped.
 */
export function describeApiRules(
  name: string,
  open: () => Promise<ApiServerUnderTest>,
  beyond: ReadonlySet<string> = new Set(),
): void {
  describe(`${name} and the parsers agree [M04]`, () => {
    let server: ApiServerUnderTest | null = null;
    let connection: Connection | null = null;
    let verdicts: ReadonlyArray<Verdict> = [];

    beforeAll(async () => {
      server = await open();
      connection = connect(server.kubeconfig);
      await applyCrds(connection);
      verdicts = await gatherVerdicts(connection, cases);
    });
    afterAll(async () => {
      connection?.close();
      await server?.close();
    });

    const rows = cases.map((each, index) => ({ ...each, index })).filter(({ rule }) => !beyond.has(rule));
    it.each(rows)('$rule', (each) => {
      const verdict = verdicts[each.index];
      // `unusable` is for Karpenter to find: no API server can.
      expect(verdict?.accepted, verdict?.message).toBe(each.outcome !== 'refused');
      if (verdict?.stored !== null) expect(verdict?.stored.spec ?? {}).toEqual(specByParser(each));
    });
  });
}
