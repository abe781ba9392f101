import { mkdir, writeFile } from 'node:fs/promises';
import { stringify } from 'yaml';
import { renderCrd } from '../shared/contract/api/schema/crd.ts';
import type { KindDefinition } from '../shared/contract/api/schema/kind.ts';
import { kinds } from '../shared/contract/api/parse.ts';

/** In the chart, which reads no file outside its own folder; kubectl takes them from there too. */
const folder = new URL('../infra/chart/definitions/', import.meta.url);

/** The files of the folder, by name. A unit test compares them with what is there. */
export function renderCrdFiles(): ReadonlyMap<string, string> {
  return new Map(kinds.map((kind) => [fileNameOf(kind), renderFile(kind)]));
}

function fileNameOf({ group, plural }: KindDefinition): string {
  return `${group}_${plural}.yaml`;
}

function renderFile(kind: KindDefinition): string {
  const header = '# Written by scripts/generate-crds.ts from shared/contract/api. Change it there.\n';
  // No aliases: a reader of one field should not have to look for another. No folding: rules stay on one line.
  return header + stringify(renderCrd(kind), { aliasDuplicateObjects: false, lineWidth: 0 });
}

/** Writes the CRDs. */
export async function generateCrds(): Promise<void> {
  await mkdir(folder, { recursive: true });
  await Promise.all([...renderCrdFiles()].map(([name, content]) => writeFile(new URL(name, folder), content)));
}

if (import.meta.main) await generateCrds();
