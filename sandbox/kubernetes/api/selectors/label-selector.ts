import { at, isObject, type Json, type JsonObject, listAt, textAt } from '../json.ts';
import { badRequest } from '../status-error.ts';

/** Tells whether a set of labels is selected. */
export type LabelMatcher = (labels: JsonObject) => boolean;

const key = '[A-Za-z0-9]([A-Za-z0-9_./-]*[A-Za-z0-9])?';
const setBased = new RegExp(`^(${key})\\s+(in|notin)\\s*\\(([^()]*)\\)$`);
const exists = new RegExp(`^(!?)\\s*(${key})$`);
const compared = new RegExp(`^(${key})\\s*(==|=|!=|>|<)\\s*([A-Za-z0-9_.-]*)$`);

/** Splits at commas outside of parentheses. */
function splitTerms(text: string): Array<string> {
  const terms: Array<string> = [];
  let depth = 0;
  let start = 0;
  for (let index = 0; index <= text.length; index++) {
    const char = text[index];
    if (char === '(') depth += 1;
    else if (char === ')') depth -= 1;
    else if (char === undefined || (char === ',' && depth === 0)) {
      terms.push(text.slice(start, index).trim());
      start = index + 1;
    }
  }
  return terms;
}

function termMatcher(term: string): LabelMatcher | null {
  const set = setBased.exec(term);
  if (set !== null) {
    const [, name = '', , operator] = set;
    const values = new Set((set[4] ?? '').split(',').map((value) => value.trim()));
    return operator === 'in'
      ? (labels) => Object.hasOwn(labels, name) && values.has(String(labels[name]))
      : (labels) => !Object.hasOwn(labels, name) || !values.has(String(labels[name]));
  }
  const comparison = compared.exec(term);
  if (comparison !== null) return comparisonMatcher(comparison[1] ?? '', comparison[3] ?? '', comparison[4] ?? '');
  const existence = exists.exec(term);
  if (existence === null) return null;
  const name = existence[2] ?? '';
  return existence[1] === '!' ? (labels) => !Object.hasOwn(labels, name) : (labels) => Object.hasOwn(labels, name);
}

function comparisonMatcher(name: string, operator: string, value: string): LabelMatcher {
  if (operator === '!=') return (labels) => labels[name] !== value;
  if (operator === '>') return (labels) => Object.hasOwn(labels, name) && Number(labels[name]) > Number(value);
  if (operator === '<') return (labels) => Object.hasOwn(labels, name) && Number(labels[name]) < Number(value);
  return (labels) => labels[name] === value;
}

/** Parses the text form (`a=b,c in (d,e),!f`); throws BadRequest that quotes what it cannot read. */
export function parseLabelSelector(text: string): LabelMatcher {
  if (text.trim() === '') return () => true;
  const terms = splitTerms(text).map((term) => {
    const matcher = termMatcher(term);
    if (matcher === null) throw badRequest(`unable to parse requirement: ${JSON.stringify(term)} in ${text}`);
    return matcher;
  });
  return (labels) => terms.every((matches) => matches(labels));
}

function expressionMatcher(expression: Json): LabelMatcher {
  const name = textAt(expression, 'key');
  const values = new Set(listAt(expression, 'values').map(String));
  switch (textAt(expression, 'operator')) {
    case 'In':
      return (labels) => Object.hasOwn(labels, name) && values.has(String(labels[name]));
    case 'NotIn':
      return (labels) => !Object.hasOwn(labels, name) || !values.has(String(labels[name]));
    case 'Exists':
      return (labels) => Object.hasOwn(labels, name);
    case 'DoesNotExist':
      return (labels) => !Object.hasOwn(labels, name);
    default:
      return () => false;
  }
}

/** The matcher of an object's selector (`matchLabels`, `matchExpressions`); null and absent select nothing. */
export function toLabelMatcher(selector: Json | undefined): LabelMatcher {
  if (!isObject(selector)) return () => false;
  const wanted = Object.entries(isObject(selector['matchLabels']) ? selector['matchLabels'] : {});
  const expressions = listAt(selector, 'matchExpressions').map(expressionMatcher);
  return (labels) =>
    wanted.every(([name, value]) => at(labels, name) === value) && expressions.every((matches) => matches(labels));
}
