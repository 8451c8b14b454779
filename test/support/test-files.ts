// Which test files each command runs, and which of them need a process of their own.

import { globSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '..', '..')

// The npm package of the browser is for this platform alone; elsewhere a Chromium can be named.
export const HAS_BROWSER =
  Boolean(process.env.COWRY_TEST_BROWSER) || (process.platform === 'linux' && process.arch === 'x64')
export const EVERY_TEST = [
  'src/**/*.test.ts',
  'bench/**/*.test.ts',
  'packages/*/test/**/*.test.ts',
  HAS_BROWSER ? 'test/**/*.test.ts' : 'test/{*,!(browser)/**/*}.test.ts',
]
// Files that depend on the server, or on what is between it and us.
export const DATABASE_TESTS = [
  'test/schema.test.ts',
  'src/kit/**/tenant-isolation.test.ts',
  'test/api/{amounts,api-keys,charges,customers,disputes,events,gateway,idempotency,isolation,limits}*.test.ts',
  'test/api/initiate{,-expiry}.test.ts',
  'test/api/{p2p,payment-links,payments,prompts,reconciliation,refunds,row-level-security,test-clock,verify,wallet,webhooks}*.test.ts',
]
// Files about what processes share: keys and their limits, idempotency, the state of a payment, deliveries.
export const SHARED_STATE_TESTS = [
  'test/api/{api-keys,charges,events,idempotency,initiate,initiate-expiry,refunds,verify}.test.ts',
  'test/api/{charges-outcomes,idempotency-*,limits*,verify-gateway,wallet-folding,webhooks-{maintenance,worker}}.test.ts',
]
// Files that prove by number or by time, and files about several processes, servers or users: too long for each commit.
// What they prove is tested once in these files too: one death at every point in failpoints and process-death, a lost
// connection and a full disk in database, a lost primary in lost-primary, deliveries that are repeated in failpoints and
// webhooks-worker, lost responses of each provider in conformance and gateway, and the end of a process under load in
// process-death. Instead of the walk and the generated requests, npm test has the simulation (without the comparison of its
// database with PostgreSQL), and tests that are generated from the OpenAPI document (inputs-bodies, isolation,
// openapi-responses). It has two cells in test/api/cells, and moves no merchant. It runs commands in src/cli and
// gateway-commands, and pays on the page of the sandbox provider in test/browser/checkout. It prompts phones of all providers in
// test/api/gateway-prompts and mobile-money, and two processes reserve the last slot of a payment link in link-slots; test:rest
// does the first in a browser, and the second with fifty payers. A process dies at each point of a transfer in failpoints. Its
// parallel confirmations in one process are in test/api/p2p. Two processes share a database in races, but no port. Files of
// the dashboard call their screens as another merchant or role; dashboard-access calls every screen. Hostile texts are shown
// in pages-safety, languages in pages-links, and signatures of passkeys are verified in dashboard-passkeys, all without a
// browser.
export const REST_ONLY = [
  'test/faults/{cells-move,event-loop,links,p2p}.test.ts',
  'test/faults/{chaos,deliveries,delivery-times,fuzz,lost-gateway-responses,postgres-failover,postgres-upgrade,processes}.test.ts',
  'test/faults/{random-walk,simulation/model}.test.ts',
  'test/api/{archive,archive-cells,canaries,cli-listen,dashboard-access,dashboard-weight,demo,inputs-addresses,test-clock,workers}.test.ts',
  'test/api/cells-{add,change,move,move-cancel,move-cases,move-drain,move-months,move-pause,move-webhooks}.test.ts',
  'test/start/{commands,full-disk,ordinary-user,package}.test.ts',
  'src/kit/embedded-postgres{,/users}.test.ts',
  'packages/{medusa,sdk}/test/package.test.ts',
  'bench/baseline-scripts.test.ts',
  ...(HAS_BROWSER
    ? [
        'test/browser/{bkash,landing,mobile-money,reference,sandbox-page,wave,weight}.test.ts',
        'test/browser/checkout-{injection,keyboard,language,reload,waiting}.test.ts',
        'test/browser/{dashboard-tasks,docs,links,passkeys}.test.ts',
      ]
    : []),
]
// These have a larger form, or take all languages and screens there. What a browser shows after each step of a payment is
// tested over HTTP in test/api/pages-* and p2p-checkout, so npm test opens in a browser one path for each channel, a
// decline, a double click, the back button and a lost network, one part of the screens, and axe, most in light colours. It
// races over two processes with one example of each kind (races), over one process with all (idempotency-parallel), and
// runs the quickstart with curl. It starts again on the same data folder in shutdown, and rejects a keyring in src/secrets.
export const LARGER_FORMS = [
  'test/faults/{abuse,deadlocks,failpoints,gateway-tokens,late-refund-failures,process-death,races,refunds}.test.ts',
  'test/faults/simulation/simulation.test.ts',
  'test/start/{first-start,production,shutdown}.test.ts',
  'test/guides/samples.test.ts',
  'src/people/limits.test.ts',
  'test/gateways/{stripe/stripe,tokenpay/tokens,mtn-momo/{denials,preapproval},daraja/refunds,chapa/chapa,*/{conformance,schedules},schemas/{requests,responses}}.test.ts',
  'test/api/{audit-chain,catalog,gateway-webhooks}.test.ts',
  'test/api/{keys-proxy,keys-scopes,pages-links,payments-list,reseal}.test.ts',
  'packages/sdk/test/lost-responses.test.ts',
  ...(HAS_BROWSER ? ['test/browser/*.test.ts'] : []),
]
// These wait for processes that they start and kill, or measure their own; each has a process of its own. The longest
// start first. In the quick form the files of one line share a process, one after the other: a process that loads the
// service and warms up takes more processor time than most of these files.
export const ALONE = [
  /^test\/faults\/(?:chaos|simulation\/simulation|fuzz|failpoints|random-walk|postgres-(?:failover|upgrade)|lost-gateway)/,
  /^test\/faults\/deliver(?:ies|y-times)/,
  /^test\/(?:guides\/samples|start\/)/,
  /^src\/kit\/.*embedded-postgres/,
  // The first captures every statement of its process.
  /^(?:bench\/baseline-scripts|test\/api\/cells-move-pause|test\/faults\/(?:abuse|cells-move|gateway|process))/,
  // The first reads every statement of its process.
  /^test\/(?:plans|schema|tidy)/,
]
// Each of these groups has one process with one browser. They start before the files that share any process. In the quick
// form the last has all.
export const BROWSER_GROUPS = [
  /^test\/browser\/(?:checkout|checkout-(?:language|waiting)|p2p|reference)\.test/,
  /^test\/browser\/(?:mobile-money|bkash|wave)\.test/,
  /^test\/browser\//,
]

/** The files that match any of the patterns. A pattern of which a part matches no file is an error: the file was renamed. */
export function findTestFiles(patterns: readonly string[]): string[] {
  return [...new Set(patterns.flatMap(expandBraces).flatMap(findByPattern))].toSorted()
}

function findByPattern(pattern: string): string[] {
  const found = globSync(pattern, { cwd: ROOT })
  if (found.length === 0) throw new Error(`no test file matches ${pattern}`)
  return found
}

/** One pattern for each alternative of `{a,b}`. */
export function expandBraces(pattern: string): string[] {
  const [whole, alternatives] = /\{([^{}]*)\}/.exec(pattern) ?? []
  if (whole === undefined || alternatives === undefined) return [pattern]
  return alternatives.split(',').flatMap((one) => expandBraces(pattern.replace(whole, one)))
}
