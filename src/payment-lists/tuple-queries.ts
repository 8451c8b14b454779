// The columns of a payment that have few values, and the combinations of them that a merchant has: a list reads the payments
// of each by the index payments_by_filter.

import { PAYMENT_STATUSES } from '../payments/states.ts'
import { FITS_TUPLE } from './found-queries.ts'

const NULLABLE_COLUMNS = ['channel', 'failure_code', 'status_reason']
const FURTHER_COLUMNS = ['currency', 'gateway', ...NULLABLE_COLUMNS]
const TUPLE_COLUMNS = ['kind', 'status', ...FURTHER_COLUMNS]

/**
 * A column as the index payments_by_filter has it. A row comparison with null would find nothing. With coalesce the index
 * would not be used under row-level security (migrations/0032_list_filters_under_row_level_security.sql).
 */
const indexed = (column: string) =>
  NULLABLE_COLUMNS.includes(column)
    ? `(case when p.${column} is null then '' else p.${column} end)`
    : `p.${column}`

const FURTHER = FURTHER_COLUMNS.map(indexed).join(', ')

const firstTuple = (condition: string) => `
    select ${TUPLE_COLUMNS.map((column) => `${indexed(column)} as ${column}`).join(', ')}
    from payments p
    where p.merchant_id = $1 and p.kind = t.kind and p.status = t.status${condition}
    order by ${FURTHER}
    limit 1`

/**
 * The combinations of these columns that the merchant has, found by a loose index scan for each kind and status, and of them
 * those that fit the filter. There are a few dozen, or hundreds with many gateways and reasons of failure.
 */
export const FITTING_TUPLES = `
with recursive tuples as (
  select earliest.*
  from (
    select distinct kind, status
    from unnest($4::text[]) as kinds (kind)
    cross join unnest(coalesce($5::text[], '{${PAYMENT_STATUSES.join(', ')}}')) as statuses (status)
  ) t
  cross join lateral (${firstTuple('')}
  ) earliest
  union all
  select following.*
  from tuples t
  cross join lateral (${firstTuple(`
      and (${FURTHER}) > (${FURTHER_COLUMNS.map((column) => `t.${column}`).join(', ')})`)}
  ) following
),
fitting as (
  select *
  from tuples p
  where ${FITS_TUPLE}
)`

/** A payment p has the combination f. */
export const HAS_TUPLE = TUPLE_COLUMNS.map((column) => `${indexed(column)} = f.${column}`).join('\n    and ')
