import { copyJson, isObject, type Json, type JsonObject, listAt, textAt } from '../json.ts';
import { presentObject } from '../wire/object-text.ts';
import { readGenerated, type Resource } from '../registry/resources.ts';
import type { ApiState } from '../state.ts';
import { age } from './cell-text.ts';
import { cellsOf } from './cells.ts';
import { customCells, customColumns } from './custom-cells.ts';
import { partialMetadata } from './partial-metadata.ts';

/** How a Table is asked for. */
export interface TableOptions {
  readonly version: string;
  /** None, Metadata or Object: what each row carries beside its cells. */
  readonly include: string;
  readonly withColumns: boolean;
}

const builtInColumns = readGenerated('columns') as JsonObject;

const fallbackColumns: ReadonlyArray<Json> = [
  { name: 'Name', type: 'string', format: 'name', description: '', priority: 0 },
  { name: 'Age', type: 'date', format: '', description: '', priority: 0 },
];

/** The columns of a resource; the API demands a description, which stays empty here. */
function columnsOf(state: ApiState, resource: Resource): Array<Json> {
  const printed = state.customKinds.printerColumns(resource);
  if (resource.definedBy !== null) return customColumns(printed);
  const columns = listAt(builtInColumns, resource.storage);
  const found = columns.length > 0 ? columns : [...fallbackColumns];
  return found.map((column) => (isObject(column) ? { ...copyJson(column), description: '' } : column));
}

function cells(state: ApiState, resource: Resource, object: JsonObject): Array<Json> {
  const now = state.clock.now();
  if (resource.definedBy !== null) return customCells(state.customKinds.printerColumns(resource), object, now);
  const found = cellsOf(resource.storage, object, now);
  if (found !== null) return found;
  // Kinds without a row of their own show what every object has, and leave the rest open.
  return columnsOf(state, resource).map((column) => {
    const name = textAt(column, 'name');
    if (name === 'Name') return textAt(object, 'metadata', 'name');
    return name === 'Age' ? age(object, now) : '<unknown>';
  });
}

function rowObject(object: JsonObject, resource: Resource, options: TableOptions): JsonObject | null {
  if (options.include === 'None') return null;
  if (options.include === 'Object') return presentObject(object, resource);
  return partialMetadata(object, options.version);
}

/** The objects as a Table; columns are left out in all events of a watch but the first. */
export function renderTable(
  state: ApiState,
  resource: Resource,
  objects: ReadonlyArray<JsonObject>,
  options: TableOptions,
): JsonObject {
  const rows = objects.map((object): Json => {
    const carried = rowObject(object, resource, options);
    return { cells: cells(state, resource, object), ...(carried === null ? {} : { object: carried }) };
  });
  const metadata: JsonObject =
    objects.length === 1 ? { resourceVersion: textAt(objects[0], 'metadata', 'resourceVersion') } : {};
  return {
    kind: 'Table',
    apiVersion: `meta.k8s.io/${options.version}`,
    metadata,
    columnDefinitions: options.withColumns ? columnsOf(state, resource) : null,
    rows,
  };
}
