"""The other side of a tray: keeps the list of icons that an app registers with, reads its menu and chooses from it."""

import asyncio
import threading
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Annotated, Any

from dbus_fast import BusType, Message, MessageType, PropertyAccess, Variant
from dbus_fast.aio import MessageBus
from dbus_fast.annotations import DBusBool, DBusInt32, DBusSignature, DBusStr
from dbus_fast.service import ServiceInterface, dbus_method, dbus_property
from desk import wait_for

WATCHER = "org.kde.StatusNotifierWatcher"
ITEM = "org.kde.StatusNotifierItem"
MENU = "com.canonical.dbusmenu"
PROPERTIES = "org.freedesktop.DBus.Properties"
ANSWER_WITHIN_S = 60

Texts = Annotated[list[str], DBusSignature("as")]


class Watcher(ServiceInterface):
    """The list of icons, as desktops keep it."""

    def __init__(self) -> None:
        super().__init__(WATCHER)
        self.items: list[str] = []

    @dbus_method()
    def RegisterStatusNotifierItem(self, service: DBusStr) -> None:  # noqa: N802
        self.items.append(service)

    @dbus_method()
    def RegisterStatusNotifierHost(self, service: DBusStr) -> None:  # noqa: N802
        pass

    @dbus_property(access=PropertyAccess.READ)
    def RegisteredStatusNotifierItems(self) -> Texts:  # noqa: N802
        return self.items

    @dbus_property(access=PropertyAccess.READ)
    def IsStatusNotifierHostRegistered(self) -> DBusBool:  # noqa: N802
        return True

    @dbus_property(access=PropertyAccess.READ)
    def ProtocolVersion(self) -> DBusInt32:  # noqa: N802
        return 0


@dataclass(frozen=True)
class Line:
    """One line of a menu."""

    id: int
    label: str
    enabled: bool
    rule: bool
    ticked: bool | None


class Tray:
    """A desktop's tray on one bus, with one icon expected in it."""

    def __init__(self, address: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._watcher = Watcher()
        self._sender: str | None = None
        self._bus: MessageBus = self._await(self._open(address))

    def icon(self) -> dict[str, Any]:
        """What the icon says of itself."""
        wait_for("an icon in the tray", lambda: self._sender)
        (found,) = self._call(self._path(), PROPERTIES, "GetAll", "s", [ITEM])
        return {name: value.value for name, value in found.items()}

    def menu(self) -> list[Line]:
        """The menu as it is now."""
        _, root = self._call(self.icon()["Menu"], MENU, "GetLayout", "iias", [0, -1, []])
        return [self._line(*child.value) for child in root[2]]

    def labels(self) -> list[str]:
        """The words of the menu, without its rules."""
        return [line.label for line in self.menu() if not line.rule]

    def state(self) -> str:
        """The first line, which says what the service does."""
        return self.menu()[0].label

    def find(self, label: str) -> Line:
        """The line with these words, once it is there."""
        return wait_for(
            f"“{label}” in the menu", lambda: next((line for line in self.menu() if line.label == label), None)
        )

    def choose(self, label: str) -> None:
        """Chooses the line with these words."""
        line = self.find(label)
        self._call(self.icon()["Menu"], MENU, "Event", "isvu", [line.id, "clicked", Variant("s", ""), 0])

    def close(self) -> None:
        """Leaves the bus."""
        self._loop.call_soon_threadsafe(self._bus.disconnect)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    async def _open(self, address: str) -> MessageBus:
        bus = await MessageBus(bus_address=address, bus_type=BusType.SESSION).connect()
        bus.add_message_handler(self._note_sender)
        bus.export("/StatusNotifierWatcher", self._watcher)
        await bus.request_name(WATCHER)
        return bus

    def _note_sender(self, message: Message) -> None:
        if message.member == "RegisterStatusNotifierItem":
            self._sender = message.sender

    def _path(self) -> str:
        wait_for("the icon's path", lambda: bool(self._watcher.items))
        service = self._watcher.items[-1]
        return service if service.startswith("/") else "/StatusNotifierItem"

    def _call(self, path: str, interface: str, member: str, signature: str, body: list[Any]) -> list[Any]:
        message = Message(
            destination=self._sender, path=path, interface=interface, member=member, signature=signature, body=body
        )
        answer = self._await(self._bus.call(message))
        if answer.message_type is not MessageType.METHOD_RETURN:
            raise AssertionError(f"{interface}.{member}: {answer.error_name} {answer.body}")
        return answer.body

    def _await(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(ANSWER_WITHIN_S)

    @staticmethod
    def _line(number: int, properties: dict[str, Variant], _children: list[Variant]) -> Line:
        value = {name: variant.value for name, variant in properties.items()}
        ticks = value.get("toggle-type") == "checkmark"
        return Line(
            number,
            value.get("label", "").replace("__", "\0").replace("_", "").replace("\0", "_"),
            value.get("enabled", True),
            value.get("type") == "separator",
            value.get("toggle-state") == 1 if ticks else None,
        )
