// The bulkhead of background jobs: it limits how many tasks of a job wait for one gateway, so that a slow gateway delays
// only its own attempts and refunds.

/** The running tasks of a job in this process, per gateway. */
export type InFlight = Map<string, number>

// A quarter of the tasks that a job runs at once. A claim is not divided by gateway, so one gateway may have almost half.
export const MAX_PER_GATEWAY = 25

/** Claims due rows of the gateways below the limit, and returns one task for each row. */
export async function claimByGateway<Claimed extends { gateway: string }>(
  inFlight: InFlight,
  limit: number,
  claim: (limit: number, saturatedGateways: readonly string[]) => Promise<Claimed[]>,
  work: (claimed: Claimed) => Promise<void>,
): Promise<(() => Promise<void>)[]> {
  const saturated = [...inFlight].filter(([, count]) => count >= MAX_PER_GATEWAY).map(([gateway]) => gateway)
  const claimed = await claim(Math.min(limit, MAX_PER_GATEWAY), saturated)
  for (const { gateway } of claimed) inFlight.set(gateway, (inFlight.get(gateway) ?? 0) + 1)
  return claimed.map((one) => async () => {
    try {
      await work(one)
    } finally {
      inFlight.set(one.gateway, (inFlight.get(one.gateway) ?? 1) - 1)
    }
  })
}
