import { azIn } from './az.ts';
import { explainRefusal } from './explain-refusal.ts';
import { renderExports } from './render-exports.ts';

/**
 * `npm run --silent outputs -- DEPLOYMENT`: the outputs of a deployment to the subscription as lines for a shell, for
 * those who deploy without azd. `eval "$(npm run --silent outputs -- nodewright)"` sets them.
 */
const [name] = process.argv.slice(2);
if (name === undefined) {
  console.error('usage: npm run --silent outputs -- DEPLOYMENT, the --name of az deployment sub create');
  process.exit(2);
}
const answer = azIn(process.cwd())(['deployment', 'sub', 'show', '--name', name]);
if (answer.kind === 'answer') {
  console.log(renderExports(answer.value).join('\n'));
} else {
  console.error(`✗ ${explainRefusal(`read the deployment ${name}`, answer)}`);
  process.exitCode = 1;
}
