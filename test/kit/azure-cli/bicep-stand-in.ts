import { readFileSync } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import { type Node } from 'web-tree-sitter';
import { namedOf, parseAll } from '../infra/bicep/parse.ts';
import { evaluate, plain } from '../infra/bicep/value.ts';

/**
 * A STAND-IN for the `bicep` command, which az would download: `bicep build --stdout main.bicep` gives a template with
 * the parameters and the names of the outputs of the file, read by a grammar of Bicep, and with no resource. It
 * compiles nothing, checks nothing, and says so in what it prints. Whether the files compile is what `node
 * scripts/bicep.ts` asks the real command.
 */
const [verb, ...rest] = process.argv.slice(2);
if (verb === '--version') {
  process.stdout.write('Bicep CLI version 0.0.1 (a stand-in of a test, which compiles nothing)\n');
} else if (verb === 'build' && rest[0] === '--stdout' && rest[1] !== undefined) {
  process.stdout.write(`${JSON.stringify(templateOf(resolve(rest[1])), null, 2)}\n`);
} else {
  process.stderr.write(`the stand-in for bicep knows no "${process.argv.slice(2).join(' ')}"\n`);
  process.exitCode = 1;
}

function templateOf(path: string): object {
  const name = basename(path);
  if (basename(dirname(path)) !== 'infra') throw new Error(`${path} is none of ours`);
  const files = parseAll({ [name]: readFileSync(path, 'utf8') });
  const file = files.get(name);
  if (file === undefined) throw new Error(`${name} was not read`);
  const value = (node: Node): unknown => {
    try {
      return plain(evaluate(files, file, node));
    } catch {
      // What only a deployment knows, such as the time, stays an expression.
      return `[${node.text}]`;
    }
  };
  const argumentOf = (node: Node): unknown => value(namedOf(node)[0] ?? node);
  return {
    $schema: 'https://schema.management.azure.com/schemas/2018-05-01/subscriptionDeploymentTemplate.json#',
    contentVersion: '1.0.0.0',
    metadata: { standIn: 'Parameters and outputs alone, read by a grammar. Nothing was compiled.' },
    parameters: Object.fromEntries(
      [...file.parameters.values()].map(({ name: parameter, type, defaultValue, decorators }) => {
        const allowed = decorators.get('allowed');
        const minLength = decorators.get('minLength');
        return [
          parameter,
          {
            type,
            ...(defaultValue === null ? {} : { defaultValue: value(defaultValue) }),
            ...(allowed === undefined ? {} : { allowedValues: argumentOf(allowed) }),
            ...(minLength === undefined ? {} : { minLength: argumentOf(minLength) }),
          },
        ];
      }),
    ),
    resources: [],
    outputs: Object.fromEntries(
      [...file.outputs.values()].map(({ name: output, type }) => [output, { type, value: '' }]),
    ),
  };
}
