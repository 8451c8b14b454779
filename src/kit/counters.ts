// Numbers that only grow, for whoever shows them: how often something happened in this process, by what it happened to.

export interface Counted {
  name: string
  label: string
  total: number
}

export interface Counters {
  /** The label is one of few, such as the name of a gateway: never something that a caller chooses. */
  add(name: string, label: string): void
  read(): Counted[]
}

export function createCounters(): Counters {
  const counted = new Map<string, Counted>()
  return {
    add(name, label) {
      const key = JSON.stringify([name, label])
      const entry = counted.get(key) ?? { name, label, total: 0 }
      entry.total += 1
      counted.set(key, entry)
    },
    read: () => [...counted.values()].map((entry) => ({ ...entry })),
  }
}
