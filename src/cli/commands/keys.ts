// cowry keys …: creates, lists, rotates and revokes API keys, and retires encryption keys.

import { type Command, InvalidArgumentError } from 'commander'
import { SCOPES } from '../../core/merchant.ts'
import { parseRateLimit, type RateLimit } from '../../core/rate-limit.ts'
import {
  commaSeparated,
  type JsonOption,
  type PaginationOptions,
  paginationQuery,
  parseInteger,
  withJson,
  withPagination,
} from '../options.ts'
import type { Shell } from '../shell.ts'
import { type Envelope, renderRecord, renderTable } from '../terminal.ts'
import { addResealCommand } from './reseal.ts'

interface Key {
  keyId: string
  name: string
  prefix: string
  status: string
  scopes: string[]
  lastUsedAt: string | null
  expiresAt: string | null
}

interface CreateOptions extends JsonOption {
  merchant: string
  name?: string
  scopes?: string[]
  expiresAt?: string
  allowIps?: string[]
  rateLimit?: RateLimit
}

export function addKeyCommands(program: Command, shell: Shell): void {
  const keys = program
    .command('keys')
    .description('Create, list, rotate and revoke API keys; retire old encryption keys.')
  addCreate(keys, shell)
  addList(keys, shell)
  addRotate(keys, shell)
  addRevoke(keys, shell)
  addResealCommand(keys, shell)
}

function addCreate(keys: Command, shell: Shell): void {
  withJson(keys.command('create'))
    .description('Create an API key. It is shown once.')
    .requiredOption('--merchant <uuid>', 'the merchant that owns the key')
    .option('--name <name>', 'the name of the key')
    .option(
      '--scopes <list>',
      `the scopes, separated by commas: ${SCOPES.join(', ')}, or * for all (default: all but keys:read and keys:write). A write scope includes the read scope of its area`,
      commaSeparated,
    )
    .option('--expires-at <time>', 'the expiry time, such as 2027-01-01T00:00:00Z')
    .option(
      '--allow-ips <list>',
      'the allowed IP addresses or CIDR blocks, separated by commas',
      commaSeparated,
    )
    .option('--rate-limit <limit>', 'the rate limit in requests per second, as N or N:BURST', rateLimit)
    .action(async (options: CreateOptions) => {
      const { merchant, name, scopes, expiresAt, allowIps, rateLimit: limit } = options
      const body = { name, scopes, expiresAt, allowedIps: allowIps, rateLimit: limit }
      const path = `/admin/v1/merchants/${encodeURIComponent(merchant)}/keys`
      showKey(shell, options, await shell.callOperator('POST', path, body))
    })
}

function addList(keys: Command, shell: Shell): void {
  withJson(withPagination(keys.command('list')))
    .description('List the API keys of a merchant, newest first.')
    .requiredOption('--merchant <uuid>', 'the merchant')
    .action(async (options: PaginationOptions & { merchant: string }) => {
      const path = `/admin/v1/merchants/${encodeURIComponent(options.merchant)}/keys${paginationQuery(options)}`
      const response = await shell.callOperator('GET', path)
      // A boundary: the operators' API describes its records in src/merchants/schema.ts.
      shell.show(response, options, () => renderKeys(response.data as Key[]))
    })
}

function addRotate(keys: Command, shell: Shell): void {
  withJson(keys.command('rotate'))
    .description('Replace an API key; the old one works until the overlap ends.')
    .argument('<key>', 'the id of the key, or the prefix that "keys list" shows', keyIdOf)
    .option(
      '--overlap-hours <hours>',
      'hours during which the old key still works, 0 to 168 (default: 24)',
      parseInteger,
    )
    .action(async (keyId: string, options: JsonOption & { overlapHours?: number }) => {
      const { overlapHours } = options
      const path = `/admin/v1/keys/${keyId}/rotate`
      showKey(shell, options, await shell.callOperator('POST', path, { overlapHours }))
    })
}

function addRevoke(keys: Command, shell: Shell): void {
  withJson(keys.command('revoke'))
    .description('Revoke an API key; this takes effect within 5 seconds.')
    .argument('<key>', 'the id of the key, or the prefix that "keys list" shows', keyIdOf)
    .action(async (keyId: string, options: JsonOption) => {
      const path = `/admin/v1/keys/${keyId}/revoke`
      showKey(shell, options, await shell.callOperator('POST', path))
    })
}

function showKey(shell: Shell, options: JsonOption, response: Envelope): void {
  // A boundary: the operators' API returns a record here.
  const record = response.data as Record<string, unknown>
  shell.show(response, options, () => `${response.message}\n\n${renderRecord(record)}`)
}

function renderKeys(keys: Key[]): string {
  const rows = keys.map(({ keyId, name, status, scopes, lastUsedAt, expiresAt }) => [
    keyId,
    name,
    status,
    lastUsedAt,
    expiresAt,
    scopes.join(','),
  ])
  return renderTable(['KEY', 'NAME', 'STATUS', 'LAST USED', 'EXPIRES', 'SCOPES'], rows)
}

function keyIdOf(text: string): string {
  const id = /^cowry_(?:test|live)_([0-9A-Za-z]{12})_/.exec(text)?.[1] ?? text
  if (!/^[0-9A-Za-z]{12}$/.test(id)) throw new InvalidArgumentError('A key id has 12 letters and digits.')
  return id
}

function rateLimit(text: string): RateLimit {
  const limit = parseRateLimit(text)
  if (!limit?.perSecond || !limit.burst)
    throw new InvalidArgumentError('It must be N or N:BURST, such as 100 or 100:500.')
  return limit
}
