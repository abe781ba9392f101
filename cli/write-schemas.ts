import { writeFileSync } from 'node:fs';
import { Catalog } from './catalog/catalog-format.ts';
import { PlanDocument } from './plan/plan-format.ts';

/** The files of `docs/schema`, by name: the public formats as JSON Schema. A unit test compares them with what is there. */
export function schemaFiles(): ReadonlyMap<string, object> {
  return new Map([
    ['catalog.schema.json', schemaOf('Nodewright Catalog', Catalog)],
    ['plan.schema.json', schemaOf('Nodewright Plan', PlanDocument)],
  ]);
}

function schemaOf(title: string, schema: object): object {
  return { $schema: 'https://json-schema.org/draft/2020-12/schema', title, ...schema };
}

/** Writes them: `node cli/write-schemas.ts`. */
if (import.meta.main) {
  const { format } = await import('prettier');
  const folder = new URL('../docs/schema/', import.meta.url);
  for (const [name, schema] of schemaFiles()) {
    const formatted = await format(JSON.stringify(schema), { parser: 'json', printWidth: 120 });
    writeFileSync(new URL(name, folder), formatted);
  }
}
