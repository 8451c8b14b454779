// Generates the reference documentation from the tables in the code. A test fails if a file differs from the code.

import { mkdir, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { CASE_KIND_NAMES, kindFacts } from './cases/case-kinds.ts'
import { EVENT_DATA } from './compose/event-data.ts'
import { GATEWAYS } from './compose/gateways.ts'
import { describedOperatorRoutes, describedPersonRoutes, merchantRoutes } from './compose/routes.ts'
import { renderEnvExample } from './config.ts'
import { isRecord } from './core/canonical.ts'
import { CURRENCIES, CURRENCY_CODES } from './core/currency.ts'
import { EVENT_TYPES } from './core/event-types.ts'
import { FAILURES } from './core/failures.ts'
import { LANGUAGE_CODES, LANGUAGES } from './core/languages.ts'
import { LOG_LINES } from './core/log-lines.ts'
import { grantableScopes, grantsScope, type Mode, SCOPES } from './core/merchant.ts'
import { METRICS } from './core/metric-definitions.ts'
import { networksOf } from './core/networks.ts'
import { SCREENS } from './dashboard/routes.ts'
import { renderErrorPage } from './docs-site/error-help/page.ts'
import { coverageOf, currenciesWithoutLocalGateway, type PlaceCoverage } from './gateways/routing/coverage.ts'
import { SANDBOX_INSTRUMENTS } from './gateways/sandbox/index.ts'
import { logRoutes } from './http/log-routes.ts'
import { openApiDocument } from './http/openapi/document.ts'
import { operatorDocument } from './http/openapi/operator-document.ts'
import { renderDocument } from './http/openapi/render.ts'
import { createOperations } from './http/operations.ts'
import { systemClock } from './kit/clock.ts'
import type { Route } from './kit/http/route.ts'
import { TOOLS } from './mcp/tools.ts'
import { TRANSFER_MEANINGS, TRANSFER_MOVES, TRANSFER_STATUSES } from './p2p/states.ts'
import { LOCALES } from './pages/locales.ts'
import { PAYMENT_MOVES, PAYMENT_STATUSES, STATUS_MEANINGS } from './payments/states.ts'
import { ROLE_SCOPES, ROLES, type Role } from './people/roles.ts'
import { allSettings } from './settings.ts'

const ROOT = new URL('../', import.meta.url)

/** The text of every generated file, by its path from the root of the repository. */
export function renderDocs(): Record<string, string> {
  return {
    '.env.example': renderEnvExample(GATEWAYS),
    'openapi.json': renderOpenApi(),
    'openapi-admin.json': renderOperatorOpenApi(),
    'docs/generated/cases.md': renderCases(),
    'docs/generated/config.md': renderSettings(),
    'docs/generated/coverage.md': renderCoverage(),
    'docs/generated/currencies.md': renderCurrencies(),
    'docs/generated/events.md': renderEvents(),
    'docs/generated/failures.md': renderFailures(),
    'docs/generated/instruments.md': renderInstruments(),
    'docs/generated/languages.md': renderLanguages(),
    'docs/generated/networks.md': renderNetworks(),
    'docs/generated/errors.md': renderErrors(),
    'docs/generated/logs.md': renderLogs(),
    'docs/generated/metrics.md': renderMetricList(),
    'docs/generated/roles.md': renderRoles(),
    'docs/generated/scopes.md': renderScopes(),
    'docs/generated/states.md': renderStates(),
    'docs/generated/tools.md': renderTools(),
    'docs/generated/transfers.md': renderTransfers(),
  }
}

export async function writeDocs(root: URL = ROOT): Promise<string[]> {
  const docs = Object.entries(renderDocs())
  for (const [path, text] of docs) {
    const file = new URL(path, root)
    await mkdir(dirname(file.pathname), { recursive: true })
    await writeFile(file, text)
  }
  return docs.map(([path]) => path)
}

/** The operations of staging: those of production and those of the sandbox. */
function describedRoutes(): Route[] {
  // A boundary: describing a route reads only the mode. The handlers, which need the rest, are never called here.
  return merchantRoutes({ settings: { mode: 'test' } } as Parameters<typeof merchantRoutes>[0])
}

function renderOpenApi(): string {
  return renderDocument(openApiDocument(describedRoutes(), { eventData: EVENT_DATA }))
}

function renderOperatorOpenApi(): string {
  const routes = [...describedOperatorRoutes(), ...logRoutes({ readLines: async () => [] })]
  return renderDocument(operatorDocument(routes, {}))
}

function renderScopes(): string {
  const routes = describedRoutes()
  const rows = SCOPES.map((scope) => [
    code(scope),
    routes
      .filter((route) => route.scope === scope || route.alsoScope === scope)
      .map(({ method, path }) => code(`${method} ${path}`))
      .join('<br>'),
    SCOPES.filter((other) => other !== scope && grantsScope([scope], other))
      .map(code)
      .join(', ') || '–',
  ])
  return page('Scopes of API keys', 'src/core/merchant.ts', ['Scope', 'Allows', 'Includes'], rows)
}

function renderRoles(): string {
  const { allows } = createOperations([...describedRoutes(), ...describedPersonRoutes()], {
    clock: systemClock,
    rateLimit: null,
  })
  const rows = SCREENS.map(({ method, path, needs, scope }) => [
    code(`${method} /app${path}`),
    ...ROLES.map((role) =>
      needs.every((operation) => allows({ scopes: ROLE_SCOPES[role] }, operation)) &&
      (scope === undefined || ROLE_SCOPES[role].includes(scope))
        ? 'yes'
        : '–',
    ),
  ])
  const granted = (['test', 'live'] as const).map((mode) => [
    `Scopes for a new API key, in ${mode} mode`,
    ...ROLES.map((role) => grantedText(mode, role)),
  ])
  return page('Roles', 'src/people/roles.ts', ['Screen or action', ...ROLES], [...rows, ...granted])
}

function grantedText(mode: Mode, role: Role): string {
  const own = ROLE_SCOPES[role]
  if (!own.includes('keys:write')) return '–'
  const scopes = grantableScopes(mode, own)
  return scopes.includes('*')
    ? 'all'
    : SCOPES.filter((scope) => grantsScope(scopes, scope))
        .map(code)
        .join(' ')
}

function renderSettings(): string {
  const rows = allSettings(GATEWAYS).map(({ name, fallback, meaning }) => [
    code(name),
    fallback === null ? '–' : code(fallback),
    meaning,
  ])
  return page('Settings', 'src/settings.ts', ['Variable', 'Default', 'Meaning'], rows)
}

function renderCases(): string {
  const rows = CASE_KIND_NAMES.map((name) => {
    const { meaning, owner, resolutions, proof } = kindFacts(name)
    const choices = resolutions.map((one) => (proof.includes(one) ? `${code(one)} with a proof` : code(one)))
    return [code(name), owner, meaning, choices.join(', ')]
  })
  const heads = ['Kind', 'Owner', 'Meaning', 'Resolutions']
  return page('Cases', 'src/cases/case-kinds.ts', heads, rows)
}

function renderCoverage(): string {
  const places = coverageOf(GATEWAYS)
  const rows = places.flatMap(({ currency, countries, ways }) =>
    ways.map(({ channel, isLocal, networks, gateways }) => [
      code(currency),
      countries.join(' '),
      channel.replaceAll('_', ' '),
      isLocal ? 'local' : 'foreign',
      networks.join(', ') || '–',
      gateways.map(({ name, collection }) => `${name} (${collection})`).join(', '),
    ]),
  )
  const heads = ['Currency', 'Countries', 'Channel', 'Way', 'Networks', 'Gateways, in the order of routing']
  const table = page('Ways to pay', 'src/gateways/routing/coverage.ts', heads, rows)
  return table.replace('\n| Currency', `\n${summarizeCoverage(places)}\n\n| Currency`)
}

function summarizeCoverage(places: readonly PlaceCoverage[]): string {
  const without = currenciesWithoutLocalGateway(places)
  const total = CURRENCY_CODES.length
  return `Local: payers of the country need no card of an international scheme that is charged from abroad. prompt: on the payer's
phone, after our page has asked for the number. page: on the provider's page. transfer: to an account that our page shows.
p2p: to the merchant's own account, and the merchant confirms it ([p2p.md](../guides/p2p.md)); shown only where no gateway has a
local way.

${total - without.length} of ${total} currencies have a local way through a gateway. Only foreign cards or p2p: ${without.join(', ') || 'none'}.`
}

function renderCurrencies(): string {
  const rows = Object.entries(CURRENCIES).map(([name, { decimals, countries, countryRequired }]) => [
    code(name),
    String(decimals),
    countryRequired ? 'yes' : 'no',
    countries.join(' '),
  ])
  const heads = ['Currency', 'Decimals', 'Country must be named', 'Countries']
  return page('Currencies', 'src/core/currency.ts', heads, rows)
}

function renderEvents(): string {
  const rows = Object.entries(EVENT_TYPES).map(([type, meaning]) => [code(type), meaning])
  return page('Events', 'src/core/event-types.ts', ['Event', 'Meaning'], rows)
}

function renderFailures(): string {
  const rows = Object.entries(FAILURES).map(([name, { category, retryable, message }]) => [
    code(name),
    category,
    retryable ? 'yes' : 'no',
    message,
  ])
  return page('Failures', 'src/core/failures.ts', ['Code', 'Category', 'Retryable', 'Meaning'], rows)
}

function renderLogs(): string {
  const rows = Object.entries(LOG_LINES).map(([key, { level, message, fields, action }]) => [
    code(key),
    level,
    message,
    fields,
    action,
  ])
  return page('Log lines', 'src/core/log-lines.ts', ['Key', 'Level', 'Message', 'Fields', 'What to do'], rows)
}

function renderMetricList(): string {
  const rows = Object.values(METRICS).map(({ name, type, labels, help }) => [
    code(name),
    type,
    labels.map(code).join(', ') || '–',
    help,
  ])
  return page('Metrics', 'src/core/metric-definitions.ts', ['Metric', 'Type', 'Labels', 'Meaning'], rows)
}

function renderInstruments(): string {
  const rows = SANDBOX_INSTRUMENTS.map(({ name, channel, label }) => [code(name), channel, label])
  const source = 'src/gateways/sandbox/instruments.ts'
  return page('Test instruments of the sandbox', source, ['Instrument', 'Channel', 'On the page'], rows)
}

function renderLanguages(): string {
  const rows = LANGUAGE_CODES.map((language) => [
    code(language),
    LANGUAGES[language].name,
    LANGUAGES[language].direction === 'rtl' ? 'right to left' : 'left to right',
    LOCALES[language].isReviewed ? 'source text' : 'machine-drafted, not yet reviewed by a native speaker',
  ])
  return page(
    "Languages of the payer's pages",
    'src/pages/locales.ts',
    ['Code', 'Name', 'Direction', 'State'],
    rows,
  )
}

function renderNetworks(): string {
  const countries = [
    ...new Set(Object.values(CURRENCIES).flatMap(({ countries }) => [...countries])),
  ].toSorted()
  const rows = countries
    .flatMap((country) => networksOf(country))
    .map(({ country, code: name, name: ownName, ussd }) => [
      country,
      code(name),
      ownName,
      ussd ? code(ussd) : '–',
    ])
  const heads = ['Country', 'Code', 'Network', 'Menu that payers dial']
  return page('Mobile-money networks', 'src/core/networks.ts', heads, rows)
}

function renderErrors(): string {
  return renderErrorPage(sourceLine('src/core/errors.ts'))
}

function renderStates(): string {
  const rows = PAYMENT_STATUSES.map((status) => [
    code(status),
    STATUS_MEANINGS[status],
    PAYMENT_MOVES[status].map(code).join(', ') || '–',
  ])
  const heads = ['Status', 'Meaning', 'May move to']
  const arrows = PAYMENT_STATUSES.flatMap((from) => PAYMENT_MOVES[from].map((to) => `  ${from} --> ${to}`))
  const picture = [
    'A checkout starts `pending`, a recurring charge `processing`.',
    '',
    '```mermaid',
    'stateDiagram-v2',
    '  [*] --> pending',
    '  [*] --> processing',
    ...arrows,
    '```',
  ].join('\n')
  const table = page('States of payments and charges', 'src/payments/states.ts', heads, rows)
  return table.replace('\n| Status', `\n${picture}\n\n| Status`)
}

function renderTools(): string {
  const rows = TOOLS.map(({ name, description, scopes, inputSchema, isWrite }) => [
    code(name),
    isWrite ? 'writes' : 'reads',
    scopes.map(code).join(' ') || '–',
    argumentsOf(inputSchema).map(code).join(' '),
    description,
  ])
  const heads = ['Tool', 'Access', 'Scopes of the key', 'Arguments', 'What it does']
  return page('Tools for agents', 'src/mcp/tools.ts', heads, rows)
}

function argumentsOf(schema: object): string[] {
  return 'properties' in schema && isRecord(schema.properties) ? Object.keys(schema.properties) : []
}

function renderTransfers(): string {
  const rows = TRANSFER_STATUSES.map((status) => [
    code(status),
    TRANSFER_MEANINGS[status],
    TRANSFER_MOVES[status].map(code).join(', ') || '–',
  ])
  const heads = ['Status', 'Meaning', 'May move to']
  return page("States of transfers to the merchant's own account", 'src/p2p/states.ts', heads, rows)
}

function page(title: string, source: string, heads: string[], rows: string[][]): string {
  const line = (cells: string[]) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
  return [
    `# ${title}`,
    '',
    sourceLine(source),
    '',
    line(heads),
    line(heads.map(() => '---')),
    ...rows.map(line),
    '',
  ].join('\n')
}

const code = (text: string) => `\`${text}\``

const sourceLine = (source: string) => `Written from \`${source}\` by \`npm run docs\`; change it there.`
