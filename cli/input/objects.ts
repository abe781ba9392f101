import { isRecord } from '../../shared/contract/api/schema/object-meta.ts';
import { fileProblem, type InputProblem } from '../wrong-input.ts';
import type { Origin } from './read/origin.ts';
import type { SourceDocument } from './read/read-documents.ts';

export type JsonObject = Readonly<Record<string, unknown>>;

/** A Kubernetes object and where it came from. Nothing but its kind has been looked at. */
export interface InputObject {
  readonly origin: Origin;
  readonly apiVersion: string;
  readonly kind: string;
  readonly value: JsonObject;
}

/** What documents hold, and what of it is no object. */
export interface ReadObjects {
  readonly objects: ReadonlyArray<InputObject>;
  readonly problems: ReadonlyArray<InputProblem>;
}

/** Lists hold objects, and may hold lists; nobody nests them deeper. */
const DEEPEST = 4;

/** The objects of documents, those of lists one by one. */
export function readObjects(documents: ReadonlyArray<SourceDocument>): ReadObjects {
  const objects: Array<InputObject> = [];
  const problems: Array<InputProblem> = [];
  for (const document of documents) add(document, DEEPEST, null);
  return { objects, problems };

  function add({ origin, value }: SourceDocument, levels: number, itemKind: ItemKind | null): void {
    if (Array.isArray(value) && levels > 0) addItems(origin, value, levels, itemKind);
    else if (!isRecord(value)) problems.push(notAnObject(origin));
    else addRecord(origin, itemKind === null ? value : { ...itemKind, ...value }, levels);
  }

  function addItems(origin: Origin, items: ReadonlyArray<unknown>, levels: number, itemKind: ItemKind | null): void {
    for (const [index, item] of items.entries()) {
      add({ origin: `${origin}, item ${index + 1}`, value: item }, levels - 1, itemKind);
    }
  }

  function addRecord(origin: Origin, value: JsonObject, levels: number): void {
    const { apiVersion, kind, items } = value;
    if (typeof kind !== 'string' || typeof apiVersion !== 'string') problems.push(notAnObject(origin));
    else if (kind.endsWith('List') && (Array.isArray(items) || items === null) && levels > 0) {
      addItems(
        origin,
        items ?? [],
        levels,
        kind === 'List' ? null : { apiVersion, kind: kind.slice(0, -'List'.length) },
      );
    } else objects.push({ origin, apiVersion, kind, value });
  }
}

/** The items of a PodList may leave out what they are. */
interface ItemKind {
  readonly apiVersion: string;
  readonly kind: string;
}

function notAnObject(origin: Origin): InputProblem {
  return fileProblem(origin, 'is not a Kubernetes object', 'give it apiVersion and kind');
}
