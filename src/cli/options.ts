// The options that several commands share, and their parsers.

import { type Command, InvalidArgumentError } from 'commander'

export interface JsonOption {
  json?: boolean
}

export interface PaginationOptions extends JsonOption {
  page?: number
  limit?: number
}

export function withJson(command: Command): Command {
  return command.option('--json', 'print one JSON document, for errors too')
}

/** For commands that act for a merchant. */
export function withKey(command: Command): Command {
  return command.option(
    '--merchant-key <key>',
    'the API key of the merchant (default: COWRY_API_KEY, or the key of the demo merchant)',
  )
}

export function withPagination(command: Command): Command {
  return command
    .option('--page <number>', 'which page', parseInteger)
    .option('--limit <number>', 'entries per page, up to 100', parseInteger)
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

/** Splits a comma-separated list. */
export function commaSeparated(text: string): string[] {
  return text
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '')
}
