import { isRecord } from '../../../shared/contract/api/schema/object-meta.ts';
import { choiceFix } from '../../../shared/contract/api/schema/structural.ts';
import { parseQuantity, unitsOf } from '../../../shared/kubernetes/text/quantity.ts';

/** Takes note of one thing wrong: the field, what is wrong with it, what to do. */
export type Report = (path: string, message: string, fix: string) => void;

/** Judges a value that is there. Total: no JSON value makes it throw. */
export type Judge = (value: unknown, path: string, report: Report) => void;

/** A field without which its object means nothing. */
export interface NeededJudge {
  readonly needed: Judge;
}

/** Makes a field needed. */
export function needed(judge: Judge): NeededJudge {
  return { needed: judge };
}

function typeName(value: unknown): string {
  if (value === null) return 'null';
  if (typeof value === 'object') return Array.isArray(value) ? 'a list' : 'a map';
  return `of type ${typeof value}`;
}

/** Text. YAML reads 1 and true without quotes as something else, which the API server refuses. */
export const text: Judge = (value, path, report) => {
  if (typeof value !== 'string')
    report(path, `is ${typeName(value)}`, 'write a string, in quotes where it looks like something else');
};

/** True or false. */
export const flag: Judge = (value, path, report) => {
  if (typeof value !== 'boolean') report(path, `is ${typeName(value)}`, 'write true or false, without quotes');
};

/** A whole number from `least` up to what 32 bits hold. */
export function wholeNumber(least: number): Judge {
  return (value, path, report) => {
    if (typeof value !== 'number' || !Number.isInteger(value)) {
      report(path, `is ${typeof value === 'number' ? 'not a whole number' : typeName(value)}`, 'write a whole number');
    } else if (value < least) report(path, `is less than ${least}`, 'raise it');
    else if (value >= 2 ** 31) report(path, `is more than ${2 ** 31 - 1}`, 'lower it');
  };
}

/** A quantity, as text or as a plain number. */
export const quantity: Judge = (value, path, report) => {
  const fix = 'write a quantity such as 100m, 4, 1.5 or 16Gi';
  if (typeof value !== 'string' && typeof value !== 'number') report(path, `is ${typeName(value)}`, fix);
  else if (parseQuantity(value, 1, 'up') === null) report(path, `${JSON.stringify(value)} is not a quantity`, fix);
  else if (String(value).trim().startsWith('-')) report(path, `${JSON.stringify(value)} is negative`, fix);
};

/** Quantities by resource. None is more than is counted: thousandths of CPUs, and whole units of all else. */
export const quantities: Judge = (value, path, report) => {
  mapOf(quantity)(value, path, report);
  if (!isRecord(value)) return;
  for (const [resource, amount] of Object.entries(value)) {
    if (typeof amount !== 'string' && typeof amount !== 'number') continue;
    const counted = parseQuantity(amount, unitsOf(resource), 'up');
    if (counted !== MOST_COUNTED) continue;
    const most = resource === 'cpu' ? '9e12' : '8Pi';
    report(
      `${path}[${resource}]`,
      `${JSON.stringify(amount)} is more than any node has`,
      `lower it to less than ${most}`,
    );
  }
};

/** Amounts beyond are counted as this. */
const MOST_COUNTED = Number.MAX_SAFE_INTEGER;

/** A whole number or text, such as a count or a percentage. */
export const numberOrText: Judge = (value, path, report) => {
  if (typeof value !== 'string' && !Number.isInteger(value)) {
    report(path, `is ${typeName(value)}`, 'write a whole number, or a percentage in quotes');
  }
};

/** Text out of a closed set. */
export function choice(...values: ReadonlyArray<string>): Judge {
  return (value, path, report) => {
    if (typeof value !== 'string') text(value, path, report);
    else if (!values.includes(value)) {
      report(path, `${JSON.stringify(value)} is not a choice here`, choiceFix(value, values));
    }
  };
}

/** Any keys, alike values. */
export function mapOf(judge: Judge): Judge {
  return (value, path, report) => {
    if (!isRecord(value)) report(path, `is ${typeName(value)}`, 'write a map of fields');
    else for (const [key, entry] of Object.entries(value)) judge(entry, `${path}[${key}]`, report);
  };
}

/** Alike elements. */
export function listOf(judge: Judge): Judge {
  return (value, path, report) => {
    if (!Array.isArray(value)) report(path, `is ${typeName(value)}`, 'write a list');
    else for (const [index, entry] of value.entries()) judge(entry, `${path}[${index}]`, report);
  };
}

/** At least one element. */
export function filledListOf(judge: Judge): Judge {
  const each = listOf(judge);
  return (value, path, report) => {
    each(value, path, report);
    if (Array.isArray(value) && value.length === 0) report(path, 'is empty', 'list at least one');
  };
}

/** Known fields; others are left aside, and null is as good as absent, as for the API server. */
export function fieldsOf(fields: Readonly<Record<string, Judge | NeededJudge>>): Judge {
  const entries = Object.entries(fields);
  return (value, path, report) => {
    if (!isRecord(value)) {
      report(path, `is ${typeName(value)}`, 'write a map of fields');
      return;
    }
    for (const [name, field] of entries) {
      const judge = typeof field === 'function' ? field : field.needed;
      const own = Object.hasOwn(value, name) ? value[name] : undefined;
      const at = path === '' ? name : `${path}.${name}`;
      if (own !== undefined && own !== null) judge(own, at, report);
      else if (typeof field !== 'function') report(at, 'is missing', 'set it');
    }
  };
}

/** All of these. */
export function allOf(...judges: ReadonlyArray<Judge>): Judge {
  return (value, path, report) => {
    for (const judge of judges) judge(value, path, report);
  };
}
