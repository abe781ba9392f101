import { isObject, type Json, type JsonObject, textAt } from '../json.ts';
import { ageOf } from './cell-text.ts';

/** One additionalPrinterColumns entry. */
export interface PrinterColumn {
  readonly name: string;
  readonly type: string;
  readonly format: string;
  readonly priority: number;
  readonly jsonPath: string;
}

/** The column definitions of a custom resource: its name, then what its definition prints, or its age. */
export function customColumns(columns: ReadonlyArray<PrinterColumn>): Array<Json> {
  return [
    { name: 'Name', type: 'string', format: 'name', description: '', priority: 0 },
    ...columns.map(({ name, type, format, priority }) => ({ name, type, format, description: '', priority })),
  ];
}

const stepForm = /\.((?:[^.[\]\\]|\\.)+)|\[(\d+|\*)\]|\['([^']+)'\]|\[\?\(@\.([\w.]+)\s*==\s*['"]([^'"]*)['"]\)\]/y;

function stepInto(values: ReadonlyArray<Json>, match: RegExpExecArray): Array<Json> {
  const [, name, index, quoted, filterPath, filterValue] = match;
  const key = name?.replaceAll(/\\(.)/g, '$1') ?? quoted;
  if (key !== undefined)
    return values.flatMap((value) => (isObject(value) && key in value ? [value[key] ?? null] : []));
  const items = values.flatMap((value) => (Array.isArray(value) ? value : []));
  if (filterPath !== undefined) return items.filter((item) => textAt(item, ...filterPath.split('.')) === filterValue);
  if (index === '*') return items;
  return values.flatMap((value) => (Array.isArray(value) ? [value[Number(index)] ?? null] : []));
}

/**
 * The values that a JSONPath of the printer columns' simple kind selects: fields, indices, `*` and equality filters.
 */
function selectPath(object: Json, path: string): ReadonlyArray<Json> {
  let values: Array<Json> = [object];
  const text = path.replace(/^\{(.*)\}$/, '$1').replace(/^\$/, '');
  stepForm.lastIndex = 0;
  while (stepForm.lastIndex < text.length) {
    const match = stepForm.exec(text);
    if (match === null) return [];
    values = stepInto(values, match);
  }
  return values;
}

function cell(column: PrinterColumn, object: JsonObject, nowMs: number): Json {
  const values = selectPath(object, column.jsonPath);
  const value = values[0];
  if (value === undefined || value === null) return null;
  if (column.type === 'date') return ageOf(String(value), nowMs);
  if (column.type !== 'string') return value;
  const texts = values.map((item) => (typeof item === 'object' ? JSON.stringify(item) : String(item)));
  return texts.join(',');
}

/** The cells of a custom resource. */
export function customCells(columns: ReadonlyArray<PrinterColumn>, object: JsonObject, nowMs: number): Array<Json> {
  return [textAt(object, 'metadata', 'name'), ...columns.map((column) => cell(column, object, nowMs))];
}

/** What is printed where a definition names no columns: the age. */
export const defaultPrinterColumns: ReadonlyArray<PrinterColumn> = [
  { name: 'Age', type: 'date', format: '', priority: 0, jsonPath: '.metadata.creationTimestamp' },
];
