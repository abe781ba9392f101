import { describe, expect, it } from 'vitest';
import { inspect, kinds } from '../../../../shared/contract/api/parse.ts';
import type { StructuralSchema } from '../../../../shared/contract/api/schema/structural.ts';
import type { Case } from '../../../contract/crds/cases/case.ts';
import { cases } from '../../../contract/crds/cases/cases.ts';

function wire(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}

function inspectCase({ object, previous }: Case) {
  const definition = kinds.find(({ kind }) => kind === object.kind);
  if (definition === undefined) throw new Error(`no kind ${object.kind}`);
  return inspect(definition, wire(object), previous === null ? undefined : wire(previous));
}

function rulesOf(schema: StructuralSchema): ReadonlyArray<string> {
  const own = (schema['x-kubernetes-validations'] ?? []).map(({ message }) => message);
  const below = [...Object.values(schema.properties ?? {}), ...(schema.items === undefined ? [] : [schema.items])];
  return [...own, ...below.flatMap(rulesOf)];
}

describe('a manifest is judged without a cluster [M04]', () => {
  it.each(cases)('$rule', (each) => {
    const { problems } = inspectCase(each);
    const layers = new Set(problems.map(({ layer }) => layer));
    const expected = { good: [], refused: ['schema'], unusable: ['runtime'] }[each.outcome];
    expect([...layers], JSON.stringify(problems)).toEqual(expected);
    if (each.path !== null) expect(problems.map(({ path }) => path)).toContain(each.path);
    for (const { fix, message } of problems) expect(fix.length * message.length).toBeGreaterThan(0);
  });

  it.each(kinds)('every rule of $kind refuses a row', (definition) => {
    const rows = cases.filter(({ object }) => object.kind === definition.kind);
    const said = new Set(rows.flatMap((each) => inspectCase(each).problems.map(({ message }) => message)));
    const rules = [...rulesOf(definition.spec), ...rulesOf(definition.status)];
    expect(rules.filter((message) => !said.has(message))).toEqual([]);
  });

  it('every rule is named once', () => {
    const names = cases.map(({ rule }) => rule);
    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
  });
});
