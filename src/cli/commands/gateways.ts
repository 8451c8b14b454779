// cowry gateways …: lists gateways, and sets the gateway accounts of merchants.

import { readFile } from 'node:fs/promises'
import { text as readAll } from 'node:stream/consumers'
import type { Command } from 'commander'
import { type JsonOption, withJson } from '../options.ts'
import type { Shell } from '../shell.ts'
import { CommandError, type Envelope, renderRecord, renderTable } from '../terminal.ts'

interface InstalledGateway {
  gateway: string
  title: string
  isConfigured: boolean
  webhookUrl: string
  credentials: { variable: string; isRequired: boolean }[]
}

interface MerchantGateway {
  gateway: string
  title: string
  servedBy: string | null
  account: { updatedAt: string; webhookUrl: string } | null
}

interface Account {
  credentials: { name: string; isSet: boolean; ending: string | null }[]
  limits: Record<string, string | null>
  warnings?: string[]
  [field: string]: unknown
}

interface MerchantOption extends JsonOption {
  merchant: string
}

interface SetOptions extends MerchantOption {
  file: string
  probe: boolean
}

export function addGatewayCommands(program: Command, shell: Shell): void {
  const gateways = program
    .command('gateways')
    .description('List the configured gateways, and set the gateway accounts of merchants.')
  addList(gateways, shell)
  addShow(gateways, shell)
  addSet(gateways, shell)
  addRemove(gateways, shell)
}

function addList(gateways: Command, shell: Shell): void {
  withJson(gateways.command('list'))
    .description('List the gateways of the instance, or the accounts that serve a merchant.')
    .option('--merchant <uuid>', 'the merchant')
    .action(async (options: JsonOption & { merchant?: string }) => {
      const { merchant } = options
      const path = merchant === undefined ? '/admin/v1/gateways' : `${merchantPath(merchant)}/gateways`
      const response = await shell.callOperator('GET', path)
      // A boundary: the operators' API describes its records in src/gateways/schema.ts.
      shell.show(response, options, () =>
        merchant === undefined
          ? renderInstalled(response.data as InstalledGateway[])
          : renderServing(response.data as MerchantGateway[]),
      )
    })
}

function addShow(gateways: Command, shell: Shell): void {
  withJson(gateways.command('show'))
    .description("Show a merchant's own account at a gateway: which credentials are set, never their values.")
    .argument(
      '<gateway>',
      'the name of the gateway, such as stripe, or of one of several accounts there, such as stripe_ke',
    )
    .requiredOption('--merchant <uuid>', 'the merchant')
    .action(async (gateway: string, options: MerchantOption) => {
      const path = accountPath(options.merchant, gateway)
      showAccount(shell, options, await shell.callOperator('GET', path))
    })
}

function addSet(gateways: Command, shell: Shell): void {
  withJson(gateways.command('set'))
    .description(
      "Set a merchant's own account at a gateway, or its credentials. They are checked first. To change to another account at the provider, remove the old account first, so that its payments can still be checked.",
    )
    .argument(
      '<gateway>',
      'the name of the gateway, such as stripe, or of one of several accounts there, such as stripe_ke',
    )
    .requiredOption('--merchant <uuid>', 'the merchant')
    .requiredOption(
      '--file <file>',
      'the credentials as JSON, such as {"secretKey": "…"}, optionally with "countries", "currencies", "channels" or "amounts" to limit what the account is used for; - reads them from standard input, so that they are in no file and no shell history',
    )
    .option('--no-probe', 'save the credentials without checking them')
    .action(async (gateway: string, options: SetOptions) => {
      const credentials = await readCredentials(options.file)
      const path = `${accountPath(options.merchant, gateway)}${options.probe ? '' : '?probe=false'}`
      const response = await shell.callOperator('PUT', path, { credentials })
      showAccount(shell, options, response)
    })
}

function addRemove(gateways: Command, shell: Shell): void {
  withJson(gateways.command('remove'))
    .description(
      "Remove a merchant's own account at a gateway; new payments stop using it within 5 seconds. The account of the instance serves the merchant again, if there is one. Payments in progress can still be checked.",
    )
    .argument(
      '<gateway>',
      'the name of the gateway, such as stripe, or of one of several accounts there, such as stripe_ke',
    )
    .requiredOption('--merchant <uuid>', 'the merchant')
    .action(async (gateway: string, options: MerchantOption) => {
      const path = accountPath(options.merchant, gateway)
      showAccount(shell, options, await shell.callOperator('DELETE', path))
    })
}

const merchantPath = (merchant: string) => `/admin/v1/merchants/${encodeURIComponent(merchant)}`

const accountPath = (merchant: string, gateway: string) =>
  `${merchantPath(merchant)}/gateways/${encodeURIComponent(gateway)}`

/** The error message must not repeat any content of the file. */
async function readCredentials(file: string): Promise<Record<string, string>> {
  const text = await (file === '-' ? readAll(process.stdin) : readFile(file, 'utf8')).catch(
    (error: unknown) => {
      const reason = error instanceof Error ? error.message : String(error)
      throw new CommandError('unreadable_credentials', `${file} cannot be read: ${reason}.`)
    },
  )
  const credentials = parseObject(text)
  if (credentials) return credentials
  throw new CommandError(
    'unreadable_credentials',
    'The credentials must be one JSON object of strings, such as {"secretKey": "…"}.',
  )
}

function parseObject(text: string): Record<string, string> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
    if (!isObject || !Object.values(value).every((one) => typeof one === 'string')) return undefined
    return Object.fromEntries(Object.entries(value))
  } catch {
    return undefined
  }
}

function showAccount(shell: Shell, options: JsonOption, response: Envelope): void {
  // A boundary: the operators' API describes its records in src/gateways/schema.ts.
  const { credentials, limits, warnings = [], ...record } = response.data as Account
  const narrowed = Object.entries(limits).flatMap(([name, text]) =>
    text === null ? [] : [`${name} ${text}`],
  )
  const shown = credentials.map(({ name, isSet, ending }) => `${name} ${stateOf(isSet, ending)}`)
  shell.show(response, options, () =>
    [
      ...[response.message, ...warnings].map((line) => `${line}\n`),
      '\n',
      renderRecord({ ...record, credentials: shown, limits: narrowed }),
    ].join(''),
  )
}

function stateOf(isSet: boolean, ending: string | null): string {
  if (!isSet) return '(not set)'
  return ending === null ? '(set)' : `(set, ends with ${ending})`
}

function renderInstalled(gateways: InstalledGateway[]): string {
  const rows = gateways.map(({ gateway, title, isConfigured, webhookUrl, credentials }) => [
    gateway,
    title,
    isConfigured ? 'configured' : 'not configured',
    webhookUrl,
    credentials.map(({ variable, isRequired }) => (isRequired ? variable : `[${variable}]`)).join(' '),
  ])
  return renderTable(['GATEWAY', 'TITLE', 'STATUS', 'WEBHOOKS', 'VARIABLES'], rows)
}

function renderServing(gateways: MerchantGateway[]): string {
  const rows = gateways.map(({ gateway, title, servedBy, account }) => [
    gateway,
    title,
    servedBy ?? 'not configured',
    account?.webhookUrl,
    account?.updatedAt,
  ])
  return renderTable(['GATEWAY', 'TITLE', 'SERVED BY', 'WEBHOOKS', 'CHANGED'], rows)
}
