/**
 * The numbers of the advisory locks that every process takes. They are arbitrary, but each has one purpose; test/tidy.test.ts
 * checks that src and the migrations use no other number.
 */
export const ADVISORY_LOCKS = {
  migrations: '7061646',
  /** Taken by maintain_month_partitions, a function of the migrations. */
  monthPartitions: '7061647',
  demoMerchant: '7061648',
  /** Taken by write_audit_entry, a function of the migrations, with the hash of the chain as second number. */
  auditChain: '7061649',
  /** Taken while the history of a demo merchant is written. */
  demoHistory: '7061650',
  /** Taken while a cell is registered. */
  cells: '7061651',
  /** Taken by guard_moving_merchant, a function of the migrations, with the hash of the merchant as second number. */
  movingMerchant: '7061652',
  /** Held by a run of the archive, with the hash of the schema as second number. */
  archive: '7061653',
} as const
