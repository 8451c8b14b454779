// How frequent a text is among the payments of a merchant, by a sample from all parts of the period.

import { type Db, sql } from '../kit/db/db.ts'
import { firstRow } from '../kit/db/rows.ts'

const SAMPLED = '512'
const PARTS = '32'
const PER_PART = '8'

/** Of the sample: at this share of a million payments, the index reads the entries of fifty thousand. */
const FREQUENT_SHARE = 0.05

interface Sample {
  isSmall: boolean
  sampled: number
  matched: number
  endsMatched: number
}

const IN_PERIOD = `p.merchant_id = $1
      and p.kind = k.kind
      and p.created_at >= $2::timestamptz
      and p.created_at <= $3::timestamptz`

const endOf = (direction: '' | ' desc') => `
  cross join lateral (
    select p.created_at as at
    from payments p
    where ${IN_PERIOD}
    order by p.created_at${direction}, p.id${direction}
    limit 1
  )`

// $4 kinds, $5 pattern of the text, $6 that of its end.
const sampleStatement = sql<Sample>`
with kinds as (select distinct unnest($4::text[]) as kind),
first_ones as (
  select count(*) as count
  from kinds k
  cross join lateral (
    select 1
    from payments p
    where ${IN_PERIOD}
    order by p.created_at desc, p.id desc
    limit ${SAMPLED}
  ) p
),
sample as (
  select p.reference ilike $5 or p.customer_email ilike $5 as fits, p.reference ilike $6 as end_fits
  from kinds k ${endOf('')} oldest ${endOf(' desc')} newest
  cross join generate_series(1, ${PARTS}) as part
  cross join lateral (
    select p.reference, p.customer_email
    from payments p
    where ${IN_PERIOD} and p.created_at <= oldest.at + (newest.at - oldest.at) * (part / ${PARTS}.0)
    order by p.created_at desc, p.id desc
    limit ${PER_PART}
  ) p
  where (select count from first_ones) >= ${SAMPLED}
)
select
  (select count from first_ones) < ${SAMPLED} as "isSmall",
  count(*)::integer as sampled,
  count(*) filter (where fits)::integer as matched,
  count(*) filter (where end_fits)::integer as "endsMatched"
from sample`

/** Small: the period has so few payments that all of them are compared. */
export async function sampleText(
  db: Db,
  period: readonly unknown[],
  kinds: readonly string[],
  patterns: { text: string; end: string },
): Promise<{ isSmall: boolean; isFrequent: boolean; isEndFrequent: boolean }> {
  const sample = await firstRow(db, sampleStatement, [...period, kinds, patterns.text, patterns.end])
  if (!sample || sample.isSmall) return { isSmall: true, isFrequent: false, isEndFrequent: false }
  const { sampled, matched, endsMatched } = sample
  const isMany = (count: number) => count >= sampled * FREQUENT_SHARE
  return { isSmall: false, isFrequent: isMany(matched), isEndFrequent: isMany(endsMatched) }
}
