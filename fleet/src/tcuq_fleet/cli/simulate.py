# SPDX-License-Identifier: Apache-2.0
"""`fleet simulate`: simulated devices that run the real firmware code."""

from threading import Event
from typing import ClassVar

from pydantic import Field

from tcuq.cli.output import check_output
from tcuq_fleet.cli.configuration import Command
from tcuq_fleet.cli.options import BrokerOptions, stop_on_signal
from tcuq_fleet.simulate.options import DeliveryOptions, DeviceOptions


class Simulate(DeliveryOptions, DeviceOptions, BrokerOptions, Command):
    """Simulate devices that run the real firmware code."""

    example: ClassVar[str] = (
        "simulate --devices 2000 --drift 5% --drift-from 96 --hour-s 1 --hours 180"
    )

    truth: str | None = Field(
        None, description=".npz file for the counters that the store must hold at the end"
    )

    def run(self) -> None:
        """Simulate until all is acknowledged or a signal arrives."""
        from tcuq_fleet.simulate.devices import Devices, Plan
        from tcuq_fleet.simulate.run import simulate, write_truth
        from tcuq_fleet.simulate.transport import TransportOptions

        if self.truth:
            check_output(self.truth, ".npz")
        delivery = self.model_dump(include=set(DeliveryOptions.model_fields))
        options = TransportOptions(broker=self.broker_address(), **delivery)
        plan = Plan(
            **self.model_dump(include=set(DeviceOptions.model_fields)),
            resend_s=options.simulated_s(options.resend_s),
            longest_s=options.simulated_s(options.longest_s),
        )
        devices, stop = Devices(plan), Event()
        stop_on_signal(stop.set)
        result = simulate(devices, options, stop)
        if self.truth:
            write_truth(devices, self.truth)
        facts = {
            "devices": plan.devices, "sent": result.sent, "waiting": result.waiting,
            "refused": result.refused, "seconds": round(result.seconds, 3),
            "stopped": stop.is_set(),
        }  # fmt: skip
        text = (
            f"{plan.devices:,} devices sent {result.sent:,} records in {result.seconds:,.1f} s;"
            f" {result.waiting:,} wait for an acknowledgement"
        )
        self.print_result(facts, text)
