// The options that several commands share, and how their texts are read.

import { type Command, InvalidArgumentError } from 'commander'

export interface JsonOption {
  json?: boolean
}

export interface PaginationOptions extends JsonOption {
  page?: number
  limit?: number
}

export function withJson(command: Command): Command {
  return command.option('--json', 'print one JSON document, also for an error')
}

/** For the commands that speak for a merchant. */
export function withKey(command: Command): Command {
  return command.option(
    '--merchant-key <key>',
    'the API key of the merchant (COWRY_API_KEY; by default that of the demo merchant)',
  )
}

export function withPagination(command: Command): Command {
  return command
    .option('--page <number>', 'which page', parseInteger)
    .option('--limit <number>', 'how many per page, up to 100', parseInteger)
}

export function paginationQuery({ page, limit }: PaginationOptions): string {
  const query = new URLSearchParams()
  if (page !== undefined) query.set('page', String(page))
  if (limit !== undefined) query.set('limit', String(limit))
  return query.size > 0 ? `?${query}` : ''
}

export function parseInteger(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('It must be a whole number.')
  return Number(text)
}

/** Words separated by commas. */
export function commaSeparated(text: string): string[] {
  return text
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '')
}
