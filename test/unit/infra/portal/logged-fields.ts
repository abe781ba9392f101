import { sources } from './recorded.ts';

/**
 * What is spread into a line, by the name of what is spread: the fields of `shared/app/facts/claim-facts.ts`, and of an
 * offering.
 */
const spreads: Readonly<Record<string, ReadonlyArray<string>>> = {
  claimFacts: ['claim', 'nodePool', 'decision'],
  machineFacts: ['instanceType', 'zone', 'capacityType'],
  place: ['instanceType', 'zone', 'capacityType', 'price'],
};

const CALL = /\blog(?:To\(context\))?\((?:\w+ \? '([a-z-]+)' : )?'([a-z-]+)', \{/g;

/**
 * The fields that the code gives each event where it logs them one by one; not of `signal`, whose are put together.
 * Throws for a spread that nobody has described.
 */
export function loggedFields(texts: ReadonlyArray<string> = sources): ReadonlyMap<string, ReadonlySet<string>> {
  const found = texts.flatMap((text) =>
    [...text.matchAll(CALL)].flatMap((match) => {
      const fields = entriesOf(text, match.index + match[0].length).flatMap((entry) => fieldsOf(entry));
      return match.slice(1).flatMap((event) => (event === undefined ? [] : [{ event, fields }]));
    }),
  );
  const byEvent = Map.groupBy(found, ({ event }) => event);
  return new Map([...byEvent].map(([event, own]) => [event, new Set(own.flatMap(({ fields }) => fields))]));
}

/** The entries of the object literal whose inside begins at `start`. */
function entriesOf(text: string, start: number): ReadonlyArray<string> {
  let depth = 0;
  let entry = '';
  const entries: Array<string> = [];
  for (let at = start; at < text.length; at++) {
    const sign = text[at] ?? '';
    if ('([{'.includes(sign)) depth++;
    if (')]}'.includes(sign) && --depth < 0) break;
    if (sign === ',' && depth === 0) {
      entries.push(entry);
      entry = '';
    } else entry += sign;
  }
  return [...entries, entry].map((one) => one.trim()).filter((one) => one !== '');
}

function fieldsOf(entry: string): ReadonlyArray<string> {
  if (!entry.startsWith('...')) return [/^\w+/.exec(entry)?.[0] ?? ''];
  const name = /^\.\.\.(\w+)/.exec(entry)?.[1] ?? '';
  const fields = spreads[name];
  if (fields === undefined) throw new Error(`nobody has said what ...${name} spreads into a line of the log`);
  return fields;
}
